/** A body in the description of a route. */
interface Content {
  schema?: object;
}

/** The part of an operation that has bodies. */
export interface OperationBodies {
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

/** A schema of fewer characters is shorter than a reference to it and easier to read in place. */
const charactersMin = 200;

/**
 * Moves the schemas of bodies to `components.schemas`. Each is then written once although every route has two paths,
 * and programs that generate clients have names for them: `ChatCompletionsRequest`, `ChatCompletionsAnswer`,
 * `ChatCompletionsEvent`.
 *
 * @param operations By path; their schemas are replaced by references.
 * @returns The schemas by name.
 */
export function shareSchemas(
  operations: readonly (readonly [path: string, OperationBodies])[],
): Record<string, object> {
  const names = new Map<string, string>();
  const schemas: Record<string, object> = {};
  const share = (content: Record<string, Content> | undefined, base: string, kind: string) => {
    for (const [mediaType, body] of Object.entries(content ?? {})) {
      const text = JSON.stringify(body.schema ?? null);
      if (body.schema === undefined || text.length < charactersMin) continue;
      let name = names.get(text);
      if (name === undefined) {
        const schemaName = base + (mediaType === "text/event-stream" ? "Event" : kind);
        name = schemaName;
        for (let count = 2; name in schemas; count++) name = `${schemaName}${count}`;
        names.set(text, name);
        schemas[name] = body.schema;
      }
      body.schema = { $ref: `#/components/schemas/${name}` };
    }
  };
  for (const [path, { requestBody, responses }] of operations) {
    const base = toName(path);
    share(requestBody?.content, base, "Request");
    for (const [status, { content }] of Object.entries(responses)) {
      share(content, base, status === "200" ? "Answer" : `Answer${status}`);
    }
  }
  return schemas;
}

/** `/api/v1/chat/completions` → `ChatCompletions`; a parameter of the path is left out. */
function toName(path: string): string {
  const words = path.replace(/^.*\/v1\//, "").match(/\{?\w+/g) ?? [];
  const named = words.filter((word) => !word.startsWith("{")).flatMap((word) => word.split("_"));
  return named.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
