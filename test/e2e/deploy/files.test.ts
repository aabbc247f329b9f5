import { expect, test } from "bun:test";
import { join } from "node:path";
import { dependencies } from "../../../package.json" with { type: "json" };
import { builtIns } from "../../../plugins/index.ts";
import { getVariablePrefix, listVariables } from "../../../src/config/index.ts";
import { moduleSettings } from "../../../src/modules/index.ts";
import { getForm } from "../../../src/provider/index.ts";

const folder = join(import.meta.dir, "../../../deploy");
const read = (name: string) => Bun.file(join(folder, name)).text();

/** What compose.yaml says, as far as it is read here. */
interface Compose {
  services: Record<string, { environment?: Record<string, string>; image?: string; build?: { dockerfile: string } }>;
}

/** The base URL of each built-in provider, and the fields of its credential. */
const ofProviders = new Set(
  builtIns.flatMap(({ name, credential }) => {
    const fields = getForm(credential)?.fields.map((field) => field.name) ?? [];
    return ["base_url", ...fields].map((field) => `${getVariablePrefix(name)}_${field.toUpperCase()}`);
  }),
);

test("compose.yaml sets nothing on the gateways that they do not read", async () => {
  const { services } = Bun.YAML.parse(await read("compose.yaml")) as Compose;
  const gateways = Object.entries(services).filter(([name]) => name.startsWith("gateway-"));
  expect(gateways.length).toBe(2);
  for (const [, { environment, build }] of gateways) {
    const others = Object.keys(environment ?? {}).filter((name) => !name.endsWith("_API_KEY"));
    expect(others.filter((name) => !listVariables(moduleSettings).includes(name) && !ofProviders.has(name))).toEqual(
      [],
    );
    expect(await Bun.file(join(folder, "..", build?.dockerfile ?? "")).exists()).toBe(true);
  }
});

test("every image and the Bun of the build are pinned to an exact version or a digest", async () => {
  const dockerfile = await read("Dockerfile");
  const { services } = Bun.YAML.parse(await read("compose.yaml")) as Compose;
  const bases = Array.from(dockerfile.matchAll(/^FROM (\S+)/gm), ([, name]) => name as string);
  const images = Object.values(services).flatMap(({ image }) => (image === undefined ? [] : [image]));
  expect([bases.length, images.length]).toEqual([2, 3]);
  const isPinned = (image: string) => /@sha256:[0-9a-f]{64}$|:\d+\.\d+(\.\d+)?(-[\w-]+)?$/.test(image);
  expect([...bases, ...images].filter((image) => image !== "scratch" && !isPinned(image))).toEqual([]);
  expect(dockerfile.match(/\bbun@\S+/g)).toEqual([`bun@${dependencies.bun}`]);
});

test("the proxy knows every gateway of compose.yaml", async () => {
  const { services } = Bun.YAML.parse(await read("compose.yaml")) as Compose;
  const upstreams = Array.from((await read("Caddyfile")).matchAll(/gateway-\d+(?=:3000)/g), ([name]) => name);
  expect(upstreams).toEqual(Object.keys(services).filter((name) => name.startsWith("gateway-")));
});

const analyze = Bun.which("systemd-analyze");
if (analyze === null) console.warn("The systemd unit is not checked: there is no systemd-analyze here");

test.skipIf(analyze === null)("systemd finds no fault with the unit but that the binary is not installed", async () => {
  const child = Bun.spawn([analyze as string, "verify", join(folder, "modelgate.service")], { stderr: "pipe" });
  const faults = (await new Response(child.stderr).text()).split("\n").filter((line) => line.includes("modelgate"));
  expect(faults.filter((line) => !line.includes("is not executable"))).toEqual([]);
});

test.skipIf(analyze === null)(
  "systemd rates the exposure of the unit below 3, and it may compile JavaScript",
  async () => {
    const unit = join(folder, "modelgate.service");
    // In tenths.
    const command = [analyze as string, "security", "--offline=yes", "--threshold=29", "--no-pager", unit];
    const { exitCode, stdout } = Bun.spawnSync(command);
    expect(exitCode, stdout.toString()).toBe(0);
    expect(await Bun.file(unit).text()).not.toMatch(/^MemoryDenyWriteExecute=/m);
  },
);
