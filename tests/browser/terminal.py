"""Draws a coloured terminal as a page, for the picture in docs/examples.

    llmverify --color always audit … | python3 terminal.py "llmverify audit …" > terminal.html
"""
import html
import re
import sys

COLOURS = {"31": "#ff8a7a", "32": "#8fce9b", "33": "#e6bf6a", "36": "#7fc3d8"}

lines, style = [], set()
for line in sys.stdin.read().rstrip("\n").split("\n"):
    parts = []
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code is None:
            css = "".join(
                f"color:{COLOURS[s]};" if s in COLOURS else "font-weight:600;" if s == "1" else "opacity:.6;" if s == "2" else ""
                for s in sorted(style, reverse=True)
            )
            parts.append(f'<span style="{css}">{html.escape(piece)}</span>' if css else html.escape(piece))
        elif code[1] in ("", "0"):
            style.clear()
        else:
            style.update(code[1].split(";"))
    lines.append("".join(parts))

print(f"""<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 26px 30px; background: #1b1c1e; color: #d6d4ce; width: max-content; }}
pre {{ margin: 0; font: 14px/1.38 "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
b {{ color: #8fce9b; }}
</style><pre><b>$</b> {html.escape(sys.argv[1])}
{chr(10).join(lines)}</pre>""")
