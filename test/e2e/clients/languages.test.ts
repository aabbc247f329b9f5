import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isLong } from "../../support/long.ts";
import { type Prepared, prepareMsMax, prepareOnce, runStep } from "../../support/prepare-once.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { wavOf } from "../../support/wav.ts";

/** A client in a language of its own, and a program beside this file that uses it without an option. */
interface Program {
  client: string;
  /** The folder of the sources, and the tool that must be there. */
  folder: string;
  tool: string;
  /** Whether its build takes minutes, so that only the long form makes it. */
  isSlow: boolean;
  /** Builds it, or gets what it needs, into a folder. */
  build(source: string, made: string): string[];
  command(source: string, made: string): string[];
  /** What each of its rows finds. */
  rows: Record<string, unknown>;
}

const model = "famA-4o-mini";
const alike = { chat: true, stream: true, tools: ["add_numbers", true], embeddings: [2, 1536] };
const media = { image: true, transcription: true, speech: "RIFF" };
/** Without optimizations, which a client needs not and which take a third of the build. */
const buildGo = (name: string) => (_: string, made: string) => [
  "env",
  "GOTOOLCHAIN=local",
  "CGO_ENABLED=0",
  "go",
  "build",
  "-gcflags=all=-N -l",
  "-o",
  join(made, "clients"),
  `./${name}`,
];
const programs: Program[] = [
  {
    client: "sashabaranov/go-openai 1.43.0",
    folder: "go",
    tool: "go",
    isSlow: false,
    build: buildGo("sashabaranov"),
    command: (_, made) => [join(made, "clients")],
    rows: { ...alike, ...media, tokens: 2, models: [true, "famA/oss-20b"], errors: [401, 429, true] },
  },
  {
    client: "openai-go 3.96.0",
    folder: "go",
    tool: "go",
    isSlow: true,
    build: buildGo("official"),
    command: (_, made) => [join(made, "clients")],
    rows: {
      ...alike,
      ...media,
      responses: [true, true, "response.completed"],
      completions: true,
      models: [true, "famA/oss-20b"],
      errors: [401, 429, true],
    },
  },
  {
    client: "openai-java 4.101.0",
    folder: "java",
    tool: "mvn",
    isSlow: false,
    build: (source, made) => [
      "mvn",
      "-q",
      "-B",
      "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
      "-f",
      join(source, "pom.xml"),
      `-DoutputDirectory=${made}`,
    ],
    command: (source, made) => [
      "java",
      "-XX:TieredStopAtLevel=1",
      "-cp",
      join(made, "*"),
      join(source, "Clients.java"),
    ],
    rows: {
      ...alike,
      ...media,
      responses: [true, true],
      models: [true, model],
      errors: ["UnauthorizedException", "RateLimitException", "NotFoundException", "SseException"],
    },
  },
  {
    client: "async-openai 0.43.0 (Rust)",
    folder: "rust",
    tool: "cargo",
    isSlow: true,
    build: (source, made) => [
      "cargo",
      "build",
      "--quiet",
      "--locked",
      "--manifest-path",
      join(source, "Cargo.toml"),
      "--target-dir",
      made,
    ],
    command: (_, made) => [join(made, "debug/clients")],
    rows: { ...alike, responses: [true, true, true], models: [true, model], errors: [401, 404, true] },
  },
];

const shared = useSandboxGateway();

describe.each(programs)("$client", ({ client, folder, tool, isSlow, build, command, rows }) => {
  let found: Record<string, unknown> | undefined;

  beforeAll(async () => {
    const source = join(import.meta.dir, folder);
    const { folder: made, missing } = await prepare(source);
    if (missing !== undefined) return console.log(`Skipped: ${client}: ${missing}`);
    const wav = join(shared.gateway.home, "speech.wav");
    await Bun.write(wav, wavOf(2000));
    found = await run([...command(source, made), shared.gateway.baseUrl, shared.gateway.key, wav]);
  }, 3 * prepareMsMax);

  async function prepare(source: string): Promise<Prepared> {
    if (isSlow && !isLong) return { missing: "its build takes minutes and is for LONG=1" };
    if (Bun.which(tool) === null) return { missing: `There is no ${tool} on this machine` };
    const files = readdirSync(source, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const sources = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
    const name = `${client}-${Bun.hash(sources.join("\n")).toString(36)}`;
    return await prepareOnce(name, (made) => runStep(build(source, made), source));
  }

  test.each(Object.entries(rows))("%s", (row, expected) => {
    if (found !== undefined) expect(found[row]).toEqual(expected);
  });

  test("has found nothing else", () => {
    if (found !== undefined) expect(Object.keys(found).sort()).toEqual(Object.keys(rows).sort());
  });
});

/** What a program found: it prints one JSON object. */
async function run(command: string[]): Promise<Record<string, unknown>> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
  const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if (text === "") throw new Error(`The program failed: ${complaint.slice(-1500)}`);
  return JSON.parse(text) as Record<string, unknown>;
}

describe("curl", () => {
  const ask = async (...flags: string[]) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello to Ada" }] });
    const { baseUrl, key } = shared.gateway;
    const address = [`${baseUrl}/chat/completions`, "-H", `Authorization: Bearer ${key}`];
    const child = Bun.spawn(["curl", "-sS", ...address, ...flags, "-d", body], { stdout: "pipe" });
    return await new Response(child.stdout).text();
  };

  test.each([
    ["with a content type", ["-H", "Content-Type: application/json"]],
    ["with the content type of forms, which it sends by itself", []],
    ["without a content type", ["-H", "Content-Type:"]],
  ])("asks %s", async (_, flags) => {
    if (Bun.which("curl") === null) return console.log("Skipped: curl: There is no curl on this machine");
    expect(await ask(...flags)).toContain("Ada");
  });
});
