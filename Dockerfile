# The service, from the wheel.  Data, dampen.toml and ledger lie in /data.
FROM python:3.12 AS build
WORKDIR /source
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE CHANGELOG.md ./
COPY src src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[serve,postgres,duckdb]" && rm -r /wheels \
    && useradd --uid 10001 --create-home dampen
USER dampen
WORKDIR /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["dampen", "serve", "dampen.toml", "--host", "0.0.0.0"]
