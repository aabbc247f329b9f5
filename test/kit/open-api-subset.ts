import type { SchemaSubset } from "../../src/kit/json-schema.ts";

/** Like the OpenAPI subsets of some providers. */
export const openApiSubset: SchemaSubset = {
  keywords: new Set(["title", "description", "minimum", "maximum", "minItems", "minLength"]),
  formats: new Set(["date-time"]),
  nullForm: "nullable",
  enumOf: "strings",
  closedObjects: false,
  itemsRequired: true,
};
