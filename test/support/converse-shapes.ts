import file from "../fixtures/aws/converse-shapes.json";

interface Shape {
  type: string;
  union?: boolean;
  required?: string[];
  members?: Record<string, string>;
  member?: string;
  value?: string;
  enum?: string[];
  min?: number;
  max?: number;
  pattern?: string;
}

const shapes = file.shapes as unknown as Record<string, Shape>;

/** What is wrong with a value by botocore's model of the service, each with its place. */
export function findShapeFaults(value: unknown, name: string, path = name): string[] {
  const shape = shapes[name];
  if (shape === undefined || shape.type === "document") return [];
  const wrong = (what: string) => [`${path}: ${what}`];
  switch (shape.type) {
    case "structure": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong("no object");
      const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
      const missing = (shape.required ?? []).filter((field) => !fields.some(([name]) => name === field));
      const lost = missing.flatMap((field) => wrong(`lacks ${field}`));
      if (shape.union === true && fields.length !== 1) return wrong(`has ${fields.length} members of a union`);
      const faults = fields.flatMap(([field, inner]) => {
        const member = shape.members?.[field];
        if (member === undefined) return wrong(`has the unknown member ${field}`);
        return findShapeFaults(inner, member, `${path}.${field}`);
      });
      return [...lost, ...faults];
    }
    case "list":
      if (!Array.isArray(value)) return wrong("no list");
      return value.flatMap((inner, index) => findShapeFaults(inner, shape.member as string, `${path}[${index}]`));
    case "map":
      return Object.entries(value as object).flatMap(([key, inner]) =>
        findShapeFaults(inner, shape.value as string, `${path}.${key}`),
      );
    case "string": {
      if (typeof value !== "string") return wrong("no text");
      if (shape.enum !== undefined && !shape.enum.includes(value)) return wrong(`${value} is none of ${shape.enum}`);
      const isLong = value.length > (shape.max ?? Number.POSITIVE_INFINITY) || value.length < (shape.min ?? 0);
      if (isLong) return wrong(`has ${value.length} characters`);
      const fits = shape.pattern === undefined || new RegExp(`^(?:${shape.pattern})$`).test(value);
      return fits ? [] : wrong(`does not match ${shape.pattern}`);
    }
    case "blob":
      return typeof value === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(value) ? [] : wrong("no base64");
    case "boolean":
      return typeof value === "boolean" ? [] : wrong("no truth value");
    default: {
      if (typeof value !== "number") return wrong("no number");
      const isOut = value > (shape.max ?? Number.POSITIVE_INFINITY) || value < (shape.min ?? Number.NEGATIVE_INFINITY);
      return isOut ? wrong(`is ${value}`) : [];
    }
  }
}
