import { Elysia, type InternalRoute } from "elysia";
import styleFile from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import scriptFile from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import iconFile from "../../dashboard/icon.svg" with { type: "file" };
import type { HttpDeps } from "../deps.ts";
import { pageHeaders } from "../lifecycle/headers.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>modelgate API</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
<p class="back"><a href="/">← modelgate dashboard</a></p>
<div id="page"></div>
<script src="/docs/swagger-ui.js"></script>
<script src="/docs/start.js"></script>
`;
const startScript = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#page", validatorUrl: null });`;
/** Swagger UI has no dark theme of its own: dark mode inverts the light theme, except images. */
const pageStyle = `
body { margin: 0; background: #fff; }
.back { margin: 0; padding: 12px 20px; font: 14px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  html { background: #fff; filter: invert(0.9) hue-rotate(180deg); }
  img { filter: invert(1) hue-rotate(180deg); }
}
`;
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/**
 * The OpenAPI document at /openapi.json, generated from the schemas that validate, and its page at /docs without files of
 * other hosts. An instance of its own, because its headers are for these routes alone.
 */
export function docs(deps: HttpDeps, routes: () => readonly InternalRoute[], inbounds: readonly ClientFormat[]) {
  let described: unknown;
  const hidden = { detail: { hide: true } };
  const file = (path: string, mediaType: string) => async () =>
    new Response(Bun.file(path), { headers: { "content-type": mediaType, "cache-control": "public, max-age=86400" } });
  const text = (content: string, mediaType: string) => async () =>
    new Response(content, { headers: { "content-type": mediaType } });
  return new Elysia()
    .onTransform(({ request, set }) => {
      Object.assign(set.headers, pageHeaders(request, policy));
    })
    .get(
      "/openapi.json",
      async () => {
        described ??= await (await import("./describe-api.ts")).describeApi(routes(), deps, inbounds);
        return described;
      },
      hidden,
    )
    .get("/docs/swagger-ui.css", file(styleFile, "text/css"), hidden)
    .get("/docs/swagger-ui.js", file(scriptFile, "text/javascript"), hidden)
    .get("/docs/page.css", text(pageStyle, "text/css"), hidden)
    .get("/docs/icon.svg", file(iconFile, "image/svg+xml"), hidden)
    .get("/docs/start.js", text(startScript, "text/javascript"), hidden)
    .get("/docs", text(page, "text/html; charset=utf-8"), hidden);
}
