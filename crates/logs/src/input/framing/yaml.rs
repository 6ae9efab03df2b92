//! Framing of YAML: elements of a list that begins in the first column, and documents.

use memchr::memchr;

use super::{Framer, Mode, State, Unit};

/// Bytes of a line that tell whether a piece begins there.
const MARK_BYTES: usize = 4;

impl Framer {
    /// Whether units are pieces of YAML.
    pub fn is_yaml(&self) -> bool {
        self.mode == Some(Mode::Yaml)
    }

    /// Whether the name of a source says that it is YAML.
    pub(super) fn is_called_yaml(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        [".yaml", ".yml"].iter().any(|ending| crate::input::names::base_of(&name).ends_with(ending))
    }

    /// Whether a first line begins YAML: a document, or a list of mappings.
    pub(super) fn begins_yaml(line: &[u8]) -> bool {
        let Some(element) = line.strip_prefix(b"- ") else { return line == b"---" };
        let key = element.trim_ascii_start();
        let length = key.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count();
        let rest = &key[length..];
        length > 0 && rest.starts_with(b":") && matches!(rest.get(1), None | Some(b' '))
    }

    /// Whether the line at hand is too short to tell what it is.
    pub(super) fn needs_mark(&self, buffer: &[u8]) -> bool {
        let rest = &buffer[self.position.min(buffer.len())..];
        self.state == State::YamlLine && rest.len() < MARK_BYTES && !rest.contains(&b'\n')
    }

    /// At the beginning of a line, or of what follows `---`: does a piece begin or end here?
    pub(super) fn yaml_line(&mut self, buffer: &[u8], units: &mut Vec<Unit>) {
        let rest = &buffer[self.position..];
        let ends = |at: usize| rest.get(at).is_none_or(|byte| byte.is_ascii_whitespace());
        let is_marker = (rest.starts_with(b"---") || rest.starts_with(b"...")) && ends(3);
        let is_element = rest.starts_with(b"-") && ends(1);
        if self.offset() > self.unit.byte {
            if is_marker || (is_element && self.yaml_list == Some(true)) {
                self.blanks = 0;
                return self.cut(buffer, units);
            }
            self.state = State::Yaml;
            return;
        }
        let is_first_column = self.unit.indent == 0;
        match rest[0] {
            b'#' | b'%' => self.state = State::Skip,
            _ if is_marker && is_first_column => {
                self.position += 3;
                self.yaml_list = None;
                self.state = State::Between;
            }
            _ => {
                self.yaml_list.get_or_insert(is_element && is_first_column);
                self.state = State::Yaml;
            }
        }
    }

    /// In a line of a piece.
    pub(super) fn yaml(&mut self, buffer: &[u8]) {
        match memchr(b'\n', &buffer[self.position..]) {
            Some(length) => {
                self.position += length + 1;
                self.line += 1;
                self.state = State::YamlLine;
            }
            None => self.position = buffer.len(),
        }
    }
}
