import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import * as contract from "../../contract/index.ts";
import * as provider from "../../provider/index.ts";
import { typeText } from "./type-text.ts";

const root = join(import.meta.dir, "../../..");
const heading = `// Types of the module that modelgate hands to plugins. Written by \`modelgate plugin new\`; the gateway does not read it.
// Write a new one after an update of the gateway.
`;

interface Declaration {
  readonly name: string;
  readonly text: string;
}

/**
 * Makes the file that a new plugin is handed for its editor, which declares the module `modelgate/plugin`, from the
 * sources.
 *
 * @throws {Error} When the TypeScript compiler, a development dependency, is not installed.
 */
export async function buildTypes(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-types-"));
  try {
    await emit(folder);
    const declarations = readDeclarations(join(folder, "src/sdk/index.d.ts"));
    const exported = readExports(readFileSync(join(folder, "src/sdk/index.d.ts"), "utf8"));
    const needed = closeOver(exported, declarations);
    const body = needed.map(({ text }) => text).join("\n");
    const list = exported.map((name) => `  ${name},`).join("\n");
    const module = `${body}\nexport {\n${list}\n};`.replaceAll(/^(?=.)/gm, "  ");
    return `${heading}declare module "modelgate/plugin" {\n${module}\n}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Compiles the declarations of the SDK and of what it imports into a folder. */
async function emit(folder: string): Promise<void> {
  const compiler = join(root, "node_modules/.bin/tsc");
  if (!existsSync(compiler)) throw new Error("Cannot write the types of a plugin: run `npx bun install` first");
  const config = join(folder, "tsconfig.json");
  const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: root, outDir: folder };
  const compilerOptions = { ...options, typeRoots: [join(root, "node_modules/@types")] };
  const files = [join(root, "src/sdk/index.ts")];
  writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, files, include: [] }));
  const tsc = Bun.spawn([compiler, "-p", config], { cwd: root, stdout: "pipe" });
  const output = await new Response(tsc.stdout).text();
  if ((await tsc.exited) !== 0) throw new Error(`Cannot write the types of a plugin: ${output}`);
}

/** All declarations of a file and of those it imports, by name. */
function readDeclarations(path: string): Map<string, Declaration> {
  const declarations = new Map<string, Declaration>();
  const seen = new Set<string>();
  const waiting = [path];
  for (const file of waiting) {
    if (seen.has(file)) continue;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    for (const [, below] of text.matchAll(/from "(\.[^"]+)\.ts"/g)) waiting.push(join(dirname(file), `${below}.d.ts`));
    for (const declaration of split(text)) {
      if (!declarations.has(declaration.name)) declarations.set(declaration.name, declaration);
    }
  }
  return declarations;
}

/** Splits a file into its declarations, each with its comment. A schema becomes the type that it describes. */
function split(text: string): Declaration[] {
  const statement =
    /((?:^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?)^(?:export )?(?:declare )?(const|function|class|interface|type) (\w+)([\s\S]*?)(?=\n(?:\/\*\*|export |declare |const |function |class |interface |type |import )|(?![\s\S]))/gm;
  const declarations: Declaration[] = [];
  for (const [, comment = "", kind = "", name = "", rest = ""] of text.matchAll(statement)) {
    const schema = schemas.get(name);
    // A schema is declared as its type.
    const body = rest.trimEnd().replaceAll(/\bStatic<typeof (\w+)>/g, "$1");
    if (schema === undefined) declarations.push({ name, text: `${comment}${kind} ${name}${body}` });
    else if (kind === "const")
      declarations.push({ name, text: `${comment}type ${name} = ${typeText(schema, without(name))};` });
  }
  return declarations;
}

const schemas = new Map<string, TSchema>(
  Object.entries<unknown>({ ...contract, ...provider }).flatMap(([name, value]) => {
    const isSchema = typeof value === "object" && value !== null && Object.getOwnPropertySymbols(value).length > 0;
    return isSchema ? [[name, value as TSchema] as const] : [];
  }),
);

function without(ownName: string): Map<string, string> {
  const others = [...schemas].filter(([name]) => name !== ownName);
  return new Map(others.map(([name, schema]) => [JSON.stringify(schema), name]));
}

function readExports(index: string): string[] {
  const lists = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) => list.split(","));
  return lists.map((word) => word.replace("type ", "").trim()).filter((word) => word !== "");
}

/** Exported declarations and those that they need. */
function closeOver(exported: readonly string[], declarations: ReadonlyMap<string, Declaration>): Declaration[] {
  const names = new Set<string>(exported);
  for (const name of names) {
    const declaration = declarations.get(name);
    if (declaration === undefined) throw new Error(`Cannot find the declaration of ${name}`);
    const code = declaration.text.replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
    // The name of a member is not a use of a declaration of the same name.
    for (const [word] of code.matchAll(/\b[A-Za-z]\w*\b(?!\??:)/g)) if (declarations.has(word)) names.add(word);
  }
  return [...names].map((name) => declarations.get(name) as Declaration);
}
