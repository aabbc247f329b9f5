import type { TSchema } from "@sinclair/typebox";

/** The TypeScript type of a schema, as an author would write it. `names` knows schemas that have a name of their own. */
export function typeText(schema: TSchema, names: ReadonlyMap<string, string>, indent = ""): string {
  const name = names.get(JSON.stringify(schema));
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.anyOf)) {
    const choices = (schema.anyOf as TSchema[]).filter((choice) => choice["x-native-form"] === undefined);
    return choices.map((choice) => typeText(choice, names, indent)).join(" | ");
  }
  if (schema.type === "array") {
    const item = typeText(schema.items as TSchema, names, indent);
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === "object") return objectText(schema, names, indent);
  if (schema.type === "integer") return "number";
  return typeof schema.type === "string" ? schema.type : "unknown";
}

function objectText(schema: TSchema, names: ReadonlyMap<string, string>, indent: string): string {
  const pattern = Object.values((schema.patternProperties ?? {}) as Record<string, TSchema>)[0];
  if (pattern !== undefined) return `Record<string, ${typeText(pattern, names, indent)}>`;
  const inner = `${indent}  `;
  const required: string[] = schema.required ?? [];
  const lines = Object.entries((schema.properties ?? {}) as Record<string, TSchema>).map(([field, value]) => {
    const about = typeof value.description === "string" ? `${inner}/** ${value.description} */\n` : "";
    const mark = required.includes(field) ? "" : "?";
    return `${about}${inner}${field}${mark}: ${typeText(value, names, inner)};`;
  });
  if (schema.additionalProperties === true) lines.push(`${inner}[extension: string]: unknown;`);
  return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${indent}}`;
}
