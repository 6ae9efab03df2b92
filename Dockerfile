# A static binary in an empty image: nothing to patch, nothing to run but llmverify.
#
#   docker build -t llmverify .
#   docker run --rm --network none -v "$PWD:/data:ro" llmverify audit /data/logs.jsonl

FROM rust:1-alpine AS build
WORKDIR /src
COPY . .
# Without the allocator in C the whole program is Rust, and links without a C compiler.
RUN cargo build --release --locked --no-default-features \
    && strip target/release/llmverify

FROM scratch
COPY --from=build /src/target/release/llmverify /llmverify
COPY --from=build /src/LICENSE-MIT /src/LICENSE-APACHE /
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["/llmverify"]
