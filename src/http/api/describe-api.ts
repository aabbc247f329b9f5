import { toOpenAPISchema } from "@elysiajs/openapi";
import { type AnyElysia, Elysia } from "elysia";
import type { ModelEntry } from "../../kernel/index.ts";
import { nextTurn } from "../../lib/next-turn.ts";
import type { HttpDeps } from "../deps.ts";
import type { ClientFormat } from "../lifecycle/http-call.ts";
import type { Route } from "../lifecycle/route.ts";
import { commonResponses } from "./openapi.ts";
import { describeRequest } from "./request-examples.ts";
import { shareSchemas } from "./share-schemas.ts";

interface Parameter {
  name: string;
  in: string;
}

interface Description {
  openapi: string;
  components: object;
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: { properties?: Record<string, object> }; example?: unknown }> };
  responses: Record<string, { description?: string; $ref?: string; content?: Record<string, { schema?: object }> }>;
}

/**
 * Corrects the generator: it says 3.0.3, but TypeBox's schemas are JSON Schema as in 3.1, and omits descriptions,
 * examples, what every request can be answered, the brackets of a list in a form, and the query of a path with names.
 */
function complete(
  description: Description,
  models: readonly ModelEntry[],
  inbounds: readonly ClientFormat[],
  { examples, queries }: { examples: ReadonlyMap<string, object>; queries: ReadonlyMap<string, readonly Parameter[]> },
): Description {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { requestBody, parameters = [] } = operation;
      const absent = queries
        .get(`${method} ${path}`)
        ?.filter(({ name }) => parameters.every((one) => one.name !== name));
      if (absent?.length) operation.parameters = [...parameters, ...absent];
      if (requestBody === undefined) continue;
      describeRequest(path, requestBody, models, inbounds);
      const [json, example] = [requestBody.content["application/json"], examples.get(`${method} ${path}`)];
      if (json !== undefined && example !== undefined) json.example = example;
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

/** A server with what the generator reads of routes; the names of parsers tell it the media type. */
function toServer(routes: readonly Route[]): AnyElysia {
  const app: AnyElysia = new Elysia();
  for (const { method, path, detail = { hide: true }, body, query, isForm = false } of routes) {
    app.route(method, path, () => undefined, { detail, body, query, parse: isForm ? "formdata" : "json" });
  }
  return app;
}

/**
 * The OpenAPI document, generated from the schemas that validate. Imported when somebody asks for it. Calls have their turns
 * between its parts.
 */
export async function describeApi(
  routes: readonly Route[],
  { version, kernel }: HttpDeps,
  inbounds: readonly ClientFormat[],
): Promise<object> {
  const { paths } = toOpenAPISchema(toServer(routes), {
    paths: [/^\/docs/, /^\/openapi/],
  });
  await nextTurn();
  const description = {
    openapi: "3.1.0",
    info: { title: "modelgate", version, description: "One API in front of many model providers" },
    tags: [{ name: "Calls" }, { name: "Models" }, { name: "Account" }, { name: "Management" }, { name: "Operation" }],
    servers: [{ url: "/" }],
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer" },
        admin: { type: "http", scheme: "bearer", description: "An admin key" },
        session: { type: "apiKey", in: "cookie", name: "session" },
      },
    },
    security: [{ key: [] }],
    paths,
  };
  // Schemas that routes share are one object each; what is completed below is completed in a copy.
  const copy = structuredClone<object>(description) as Description;
  await nextTurn();
  return complete(copy, [...kernel.registry.modelEntries], inbounds, {
    examples: byOperation(routes, ({ example }) => example),
    queries: byOperation(routes, ({ detail }) => (detail as Operation | undefined)?.parameters),
  });
}

/** A part of routes, by method and path as the document has them. */
function byOperation<Part>(
  routes: readonly Route[],
  read: (route: Route) => Part | undefined,
): ReadonlyMap<string, Part> {
  const parts = routes.flatMap((route) => {
    const part = read(route);
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    return part === undefined ? [] : [[`${route.method.toLowerCase()} ${path}`, part] as const];
  });
  return new Map(parts);
}
