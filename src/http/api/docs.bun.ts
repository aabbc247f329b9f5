import { swagger } from "@elysiajs/swagger";
import { Elysia } from "elysia";
import styleFile from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import scriptFile from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import iconFile from "../../dashboard/icon.svg" with { type: "file" };
import type { ModelEntry } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { pageHeaders } from "../middleware/security-headers.ts";
import { commonResponses } from "./openapi.ts";
import { describeRequest } from "./request-examples.ts";
import { shareSchemas } from "./share-schemas.ts";

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
/** Swagger UI has no dark theme of its own: its light one is turned round, but for pictures. */
const pageStyle = `
body { margin: 0; background: #fff; }
.back { margin: 0; padding: 12px 20px; font: 14px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  html { background: #fff; filter: invert(0.9) hue-rotate(180deg); }
  img { filter: invert(1) hue-rotate(180deg); }
}
`;
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

interface Description {
  openapi: string;
  components: object;
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  requestBody?: { content: Record<string, { schema: { properties?: Record<string, object> } }> };
  responses: Record<string, { description?: string; $ref?: string; content?: Record<string, { schema?: object }> }>;
}

/**
 * Corrects the generator: it says 3.0.3, but TypeBox's schemas are JSON Schema as in 3.1, and omits descriptions,
 * examples, what every request can be answered, and the brackets of a list in a form.
 */
function complete(description: Description, models: readonly ModelEntry[]): Description {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const { requestBody } of Object.values(methods)) {
      if (requestBody !== undefined) describeRequest(path, requestBody, models);
    }
  }
  const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));
  for (const { requestBody, responses } of operations) {
    const form = requestBody?.content["multipart/form-data"]?.schema;
    if (form?.properties !== undefined) {
      const fields = Object.entries(form.properties);
      form.properties = Object.fromEntries(fields.map(([name, field]) => [isList(field) ? `${name}[]` : name, field]));
    }
    for (const status of Object.keys(commonResponses))
      responses[status] ??= { $ref: `#/components/responses/${status}` };
    for (const response of Object.values(responses))
      if (response.$ref === undefined) response.description ??= "The answer";
  }
  const schemas = shareSchemas(
    Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => [path, operation] as const),
    ),
  );
  const components = { ...description.components, schemas, responses: commonResponses };
  return { ...description, components, openapi: "3.1.0" };
}

function isList(field: unknown): boolean {
  return (field as { type?: unknown }).type === "array";
}

/**
 * The OpenAPI document at /openapi.json, generated from the schemas that validate, and its page at /docs without files of
 * other hosts. An instance of its own, because its headers are for these routes alone.
 */
export function docs(deps: HttpDeps) {
  let described: unknown;
  const hidden = { detail: { hide: true } };
  const file = (path: string, mediaType: string) => async () =>
    new Response(Bun.file(path), { headers: { "content-type": mediaType, "cache-control": "public, max-age=86400" } });
  const text = (content: string, mediaType: string) => async () =>
    new Response(content, { headers: { "content-type": mediaType } });
  const app = new Elysia();
  return app
    .onTransform(({ request, set }) => {
      Object.assign(set.headers, pageHeaders(request, policy));
    })
    .use(
      swagger({
        path: "/docs",
        specPath: "/docs/routes.json",
        exclude: /^\/docs|^\/openapi/,
        documentation: {
          info: {
            title: "modelgate",
            version: deps.version,
            description: "One API in front of many model providers",
          },
          tags: [{ name: "Calls" }, { name: "Models" }, { name: "Account" }, { name: "Operation" }],
          servers: [{ url: "/" }],
          components: {
            securitySchemes: {
              key: { type: "http", scheme: "bearer" },
              session: { type: "apiKey", in: "cookie", name: "session" },
            },
          },
          security: [{ key: [] }],
        },
      }),
    )
    .get(
      "/openapi.json",
      async () => {
        described ??= complete(await (await app.handle(new Request("http://docs/docs/routes.json"))).json(), [
          ...deps.kernel.registry.modelEntries,
        ]);
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
