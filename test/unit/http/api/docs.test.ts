import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import { httpOf } from "../support.ts";

interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  security?: unknown[];
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, { description?: string; content?: Record<string, { schema: object }> }>;
}
interface Description {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  tags: { name: string }[];
  components: { securitySchemes: Record<string, object>; schemas: Record<string, object> };
  security: Record<string, unknown[]>[];
}

const { ask, app } = httpOf();
let description: Description;
beforeAll(async () => {
  description = (await (await ask("/openapi.json")).json()) as Description;
});

const operations = () =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** The schema itself, where there is a reference. */
function resolve(schema: object | undefined): object {
  const name = (schema as { $ref?: string } | undefined)?.$ref?.replace("#/components/schemas/", "");
  return name === undefined ? (schema as object) : (description.components.schemas[name] as object);
}

describe("the description of the API", () => {
  test("is OpenAPI 3.1 with title, version and key", () => {
    expect(description.openapi).toMatch(/^3\.1\.\d$/);
    expect(description.info).toMatchObject({ title: "modelgate", version: "1.2.3" });
    expect(description.security).toEqual([{ key: [] }]);
    expect(Object.keys(description.components.securitySchemes)).toEqual(["key", "admin", "session"]);
  });

  test("has every endpoint for callers that is served, below both mounts", () => {
    const served = app.routes
      .filter(({ path }) => !/^\/(docs|openapi\.json|dashboard\/api|webhooks)|\/\*$/.test(path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`)
      // Those by which programs are signed in: their metadata and RFCs describe them, and clients look for them everywhere.
      .filter((operation) => !/\/(\.well-known|oauth|managed)\/|^POST .*\/(metrics|logs|traces)$/.test(operation))
      // Its own endpoints describe it.
      .filter((operation) => !operation.includes("/scim/v2/"))
      // A WebSocket, which OpenAPI cannot describe.
      .filter((operation) => !/^GET .*\/responses$/.test(operation));
    const described = operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    expect(described.toSorted()).toEqual(served.toSorted());
    for (const path of ["/chat/completions", "/embeddings", "/models", "/v1/models", "/models/{model}", "/key"]) {
      for (const mount of ["/api/v1", "/v1"]) expect(Object.keys(description.paths)).toContain(mount + path);
    }
  });

  test("groups every operation by a tag that it lists, and lists no other", () => {
    const used = operations().flatMap(({ operation }) => operation.tags ?? ["none"]);
    expect([...new Set(used)].toSorted()).toEqual(description.tags.map(({ name }) => name).toSorted());
  });

  test("names every operation once and sums it up", () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations())
      expect([path, operation.summary]).toEqual([path, expect.any(String)]);
  });

  test("declares every parameter of a path, and no other", () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect([path, ...declared.map(({ name }) => name)]).toEqual([path, ...(inPath as string[])]);
      expect(declared.every(({ required }) => required === true)).toBe(true);
    }
  });

  test("describes every answer, with schemas that are JSON Schema 2020-12", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { path, operation } of operations()) {
      expect([path, Object.keys(operation.responses)]).toEqual([path, expect.arrayContaining(["200"])]);
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      for (const response of Object.values(operation.responses)) {
        if (!("$ref" in response)) expect(response.description).toBeString();
      }
      for (const { schema } of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
        expect(ajv.validateSchema(resolve(schema))).toBe(true);
      }
    }
  });

  test("says what any request can be answered, the server, a chunk, and a list in a form as it is sent", () => {
    const { servers, components } = description as unknown as {
      servers: object[];
      components: { responses: Record<string, object> };
    };
    expect(servers).toEqual([{ url: "/" }]);
    expect(Object.keys(components.responses)).toEqual(["404", "405", "431"]);
    for (const { operation } of operations()) {
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["404", "405", "431"]));
      expect(operation.responses["431"]).toEqual({ $ref: "#/components/responses/431" } as object);
    }
    const contentOf = (path: string) => description.paths[path]?.post;
    const event = contentOf("/v1/chat/completions")?.responses["200"]?.content?.["text/event-stream"]?.schema;
    expect(resolve(event)).toMatchObject({
      properties: {
        data: {
          anyOf: [
            { contentSchema: { properties: { object: { const: "chat.completion.chunk" } } } },
            { const: "[DONE]" },
          ],
        },
      },
    });
    const form = contentOf("/v1/audio/transcriptions")?.requestBody?.content["multipart/form-data"]?.schema;
    expect(Object.keys((resolve(form) as { properties: object }).properties)).toContain("timestamp_granularities[]");
  });

  test("has each large schema once, under a name that tells the endpoint", () => {
    const { schemas } = description.components;
    const texts = Object.values(schemas).map((schema) => JSON.stringify(schema));
    expect(new Set(texts).size).toBe(texts.length);
    for (const name of ["ChatCompletionsRequest", "ChatCompletionsAnswer", "ChatCompletionsEvent", "MessagesRequest"]) {
      expect(Object.keys(schemas)).toContain(name);
    }
    const requestOf = (path: string) => description.paths[path]?.post?.requestBody?.content["application/json"]?.schema;
    expect(requestOf("/v1/chat/completions")).toEqual({ $ref: "#/components/schemas/ChatCompletionsRequest" });
    expect(requestOf("/api/v1/chat/completions")).toEqual(requestOf("/v1/chat/completions") as object);
  });

  test("asks for a key everywhere but for health and files", () => {
    const open = operations().filter(({ operation }) => operation.security?.length === 0);
    const paths = open.map(({ path }) => path).toSorted();
    expect(paths).toEqual(["/api/v1/files/{id}", "/health", "/healthz", "/readyz", "/v1/files/{id}"]);
  });

  test("has the scope of each operation of management, except of the document, whose sections have theirs", () => {
    const ofManagement = operations().filter(({ path }) => path.startsWith("/v1/organization/"));
    const scopes = ofManagement.map(({ method, path, operation }) => {
      const [{ admin: [scope = ""] = [] } = {}] = operation.security as { admin?: string[] }[];
      return [`${method} ${path}`, scope] as const;
    });
    expect(scopes.filter(([, scope]) => scope === "").map(([operation]) => operation)).toEqual([
      "get /v1/organization/config",
      "put /v1/organization/config",
    ]);
    const isPlain = ([operation, scope]: readonly [string, string]) =>
      scope.endsWith(operation.startsWith("get ") ? ":read" : ":write");
    expect(scopes.filter((row) => row[1] !== "" && !isPlain(row))).toEqual([
      ["post /v1/organization/reconciliations", "usage:read"],
      ["post /v1/organization/credentials/lookup", "keys:read"],
    ]);
  });

  test("says that a chat is sent as JSON and sound as a form", () => {
    const contentOf = (path: string) => Object.keys(description.paths[path]?.post?.requestBody?.content ?? {});
    expect(contentOf("/api/v1/chat/completions")).toContain("application/json");
    expect(contentOf("/api/v1/audio/transcriptions")).toEqual(["multipart/form-data"]);
    expect(contentOf("/v1/organization/projects")).toEqual(["application/json"]);
  });
});

describe("a document of the API that is the same for everybody", () => {
  const paths = [
    "/openapi.json",
    "/docs",
    "/docs/swagger-ui.css",
    "/docs/swagger-ui.js",
    "/docs/start.js",
    "/docs/page.css",
  ];
  const get = (path: string, headers: Record<string, string> = {}) =>
    app.handle(new Request(new URL(path, "http://gateway.example"), { headers }));

  test("is not sent again to a client that has it, in whatever encoding", async () => {
    const bad: unknown[] = [];
    for (const path of paths) {
      for (const encoding of ["br", "gzip", "identity"]) {
        const headers = { "accept-encoding": encoding };
        const etag = (await get(path, headers)).headers.get("etag");
        for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
          const known = await get(path, { ...headers, "if-none-match": condition ?? "" });
          const answer = [known.status, known.headers.get("etag"), await known.text()];
          if (JSON.stringify(answer) !== JSON.stringify([304, etag, ""])) bad.push([path, encoding, condition, answer]);
        }
        const other = await get(path, { ...headers, "if-none-match": '"other"' });
        if (other.status !== 200 || (await other.bytes()).length === 0) bad.push([path, encoding, "other"]);
      }
      const etags = await Promise.all(
        ["br", "gzip", ""].map(async (encoding) =>
          (await get(path, { "accept-encoding": encoding })).headers.get("etag"),
        ),
      );
      if (new Set(etags).size !== 3 || etags.includes(null)) bad.push([path, etags]);
    }
    expect(bad).toEqual([]);
  });

  test("is compressed where the client takes that, and is the same text", async () => {
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync };
    for (const path of paths) {
      const plain = await (await get(path)).bytes();
      for (const encoding of ["br", "gzip"] as const) {
        const response = await get(path, { "accept-encoding": `${encoding}, zstd` });
        const packed = await response.bytes();
        expect([path, response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
          path,
          encoding,
          "accept-encoding",
        ]);
        expect(Buffer.from(unpack[encoding](packed)).equals(Buffer.from(plain))).toBe(true);
      }
    }
    const description = await (await get("/openapi.json", { "accept-encoding": "br" })).bytes();
    expect(description.length).toBeLessThan(100_000);
  });

  test("is written once, however often anybody asks for it", async () => {
    await get("/openapi.json");
    const stringify = spyOn(JSON, "stringify");
    try {
      for (let count = 0; count < 20; count++) expect((await get("/openapi.json")).status).toBe(200);
      expect(stringify).not.toHaveBeenCalled();
    } finally {
      stringify.mockRestore();
    }
  });
});

describe("the page of the API", () => {
  test.each([
    ["/docs", "text/html"],
    ["/docs/swagger-ui.css", "text/css"],
    ["/docs/swagger-ui.js", "text/javascript"],
    ["/docs/start.js", "text/javascript"],
  ])("%s is served from here as %s, without a key", async (path, mediaType) => {
    const response = await ask(path, { headers: { authorization: "" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith(mediaType);
    expect((await response.bytes()).length).toBeGreaterThan(50);
  });

  test("names no other host, and may load from none", async () => {
    const page = await ask("/docs");
    const start = await (await ask("/docs/start.js")).text();
    expect(await page.text()).not.toMatch(/(?:https?:)?\/\/\w/);
    expect(start).not.toMatch(/https?:/);
    expect(page.headers.get("content-security-policy")).toStartWith("default-src 'self';");
  });

  test("loads only what is served", async () => {
    const page = await (await ask("/docs")).text();
    for (const [, path] of page.matchAll(/<(?:link|script)[^>]*(?:href|src)="([^"]+)"/g))
      expect((await ask(path as string)).status).toBe(200);
  });
});
