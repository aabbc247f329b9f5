import styleFile from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import scriptFile from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import iconFile from "../../dashboard/icon.svg" with { type: "file" };
import { nextTurn } from "../../lib/next-turn.ts";
import type { HttpDeps } from "../deps.ts";
import { ConstantDocument } from "../lifecycle/constant-document.ts";
import { pageHeaders, type ResponseHeaders } from "../lifecycle/headers.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";
import type { RequestContext, Route } from "../lifecycle/route.ts";

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
/** Groups are closed at first: to draw two hundred operations and their schemas takes a browser many seconds. */
const startScript = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#page",
  validatorUrl: null,
  docExpansion: "none",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
});`;
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
 * other hosts.
 */
export function docs(deps: HttpDeps, routes: readonly Route[], inbounds: readonly ClientFormat[]): Route[] {
  const describe = async () => {
    const { describeApi } = await import("./describe-api.ts");
    await nextTurn();
    const description = await describeApi(routes, deps, inbounds);
    await nextTurn();
    return new Blob([JSON.stringify(description)]);
  };
  const serve = (
    path: string,
    mediaType: string,
    read: () => Promise<Blob> | Blob,
    caching: ResponseHeaders,
  ): Route => {
    const document = new ConstantDocument(mediaType, read);
    const answer = ({ request }: RequestContext) =>
      document.respond(request, { ...pageHeaders(request, policy), ...caching });
    return { method: "GET", path, answer };
  };
  const text = (content: string) => () => new Blob([content]);
  const file = (path: string) => () => Bun.file(path);
  const aDay = { "cache-control": "public, max-age=86400" };
  const revalidated = { "cache-control": "no-cache" };
  return [
    serve("/openapi.json", "application/json", describe, revalidated),
    serve("/docs/swagger-ui.css", "text/css", file(styleFile), aDay),
    serve("/docs/swagger-ui.js", "text/javascript", file(scriptFile), aDay),
    serve("/docs/page.css", "text/css", text(pageStyle), revalidated),
    serve("/docs/icon.svg", "image/svg+xml", file(iconFile), aDay),
    serve("/docs/start.js", "text/javascript", text(startScript), revalidated),
    serve("/docs", "text/html; charset=utf-8", text(page), revalidated),
  ];
}
