# Two images: `wheel` holds the wheel, the last one the program.
#
#   docker build --target wheel --output dist .     the wheel, into dist/
#   docker build -t tidemark .                      then: docker run --rm -v "$PWD:/work" tidemark hta TRACE
#
# An image for training installs the wheel beside its own PyTorch, with a C++ compiler for ops: docs/guide/clusters.md.
FROM debian:12 AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates git make
WORKDIR /src/tidemark
COPY . .
RUN make wheel

FROM scratch AS wheel
COPY --from=build /src/tidemark/dist/*.whl /

FROM debian:12-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/tidemark/dist/*.whl /tmp/
RUN python3 -m venv /opt/tidemark && /opt/tidemark/bin/pip install --no-index --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
ENV PATH=/opt/tidemark/bin:$PATH
WORKDIR /work
ENTRYPOINT ["tidemark"]
CMD ["help"]
