import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isLong } from "../../support/long.ts";
import { preparePython } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const installMsMax = 300_000;
const ranked = [2, true];

/** What each row of the script finds when the client has nothing but the gateway's address and a key. */
const ofCohere: [string, unknown[]][] = [
  ["cohere", [...ranked, 1]],
  ["cohere v1", [3, true, true]],
  [
    "cohere errors",
    [
      ["UnauthorizedError", 401],
      ["BadRequestError", 400],
    ],
  ],
];
const ofOthers: [string, unknown[]][] = [
  ["voyageai", [...ranked, true, true]],
  ["voyageai vectors", [3, 1024, true]],
  ["langchain cohere", [2, true, true]],
  ["langchain voyageai", [2, true]],
  ["langchain voyageai vectors", [3, 1024]],
  ["langchain openai vectors", [3, 1536]],
];

/** LangChain's package for Cohere needs an older client, so that there are two sets of packages. */
const sets = [
  { name: "the client of Cohere", packages: ["cohere==7.3.1"], rows: ofCohere },
  {
    name: "the client of Voyage, and LangChain",
    packages: ["langchain-cohere==0.6.0", "langchain-openai==1.7.4", "langchain-voyageai==0.4.1", "voyageai==0.5.0"],
    rows: [...ofCohere, ...ofOthers],
  },
];

describe.each(sets)("rankings and vectors with $name", ({ name, packages, rows }) => {
  const shared = useSandboxGateway();
  let found: Record<string, unknown> = {};
  let missing: string | undefined;

  beforeAll(async () => {
    if (!isLong) {
      missing = "they take minutes to install and are for LONG=1";
      return console.log(`Skipped: ${name}: ${missing}`);
    }
    const python = await preparePython("python-retrieval", ...packages);
    missing = python.missing;
    if (missing !== undefined) return console.log(`Skipped: ${name}: ${missing}`);
    const { origin, key, home } = shared.gateway;
    const command = [python.command as string, join(import.meta.dir, "retrieval.py"), origin, key];
    const env = { PATH: process.env.PATH, HOME: home };
    const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe", timeout: 120_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if (text === "") throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    found = JSON.parse(text) as Record<string, unknown>;
  }, installMsMax);

  test("each finds what it should", () => {
    if (missing === undefined) expect(found).toEqual(Object.fromEntries(rows));
  });
});
