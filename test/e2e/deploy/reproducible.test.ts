import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { dependencies } from "../../../package.json" with { type: "json" };
import { createSbom } from "../../../scripts/sbom.bun.ts";
import { isLong } from "../../support/long.ts";

const root = join(import.meta.dir, "../../..");
mkdirSync(join(root, "dist"), { recursive: true });
/** On the disk of the checkout, so that packages can be linked. */
const folder = mkdtempSync(join(root, "dist/twice-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Copies the checkout, with the packages that are installed in it: linked where the disk is the same, and without the cache
 * of the tests, which has far more files.
 */
function copyCheckout(to: string): void {
  mkdirSync(join(to, "node_modules"), { recursive: true });
  const packages = "find node_modules -mindepth 1 -maxdepth 1 ! -name .cache -print0 | xargs -0";
  const copyTo = '-t "$1/node_modules"';
  const copy = `git ls-files -z | xargs -0 cp --parents -t "$1" && (${packages} cp -al ${copyTo} || ${packages} cp -a ${copyTo})`;
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", copy, "bash", to], { cwd: root });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
}

/** Builds the binary of a copy as a release does, and returns its hash. */
async function buildCopy(name: string): Promise<string> {
  const copy = join(folder, name);
  copyCheckout(copy);
  const outfile = join(folder, `${name}-out`, "modelgate");
  const script = `
    import { buildCommand } from "./scripts/build.bun.ts";
    const { exitCode, stderr } = Bun.spawnSync(buildCommand(process.env.OUTFILE));
    if (exitCode !== 0) throw new Error(stderr.toString());`;
  const env = { ...process.env, OUTFILE: outfile, MODELGATE_COMMIT: "0123456789ab" };
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "-e", script], { cwd: copy, env });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  const hash = new Bun.CryptoHasher("sha256").update(await Bun.file(outfile).arrayBuffer()).digest("hex");
  rmSync(copy, { recursive: true });
  return hash;
}

const isSteady = Bun.spawnSync(["sh", "-c", "setarch -R true"], { stderr: "ignore" }).success;
if (!isSteady) console.warn("The binary is not built twice: this needs Linux and the right to setarch -R");
else if (!isLong) console.log("The binary is not built twice: this is for LONG=1");

test.skipIf(!isSteady || !isLong)(
  "two builds of one commit in different folders are equal",
  async () => {
    expect(await buildCopy("one")).toBe(await buildCopy("another/folder"));
  },
  300_000,
);

interface Sbom {
  components: { group?: string; name: string; version: string; purl: string; licenses: unknown[]; hashes: unknown[] }[];
}

const schemas = join(root, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
const readSchema = (name: string) => Bun.file(join(schemas, `${name}.SNAPSHOT.schema.json`)).json();
const nameOf = ({ group, name }: Sbom["components"][number]) => (group === undefined ? name : `${group}/${name}`);

test("the bill of materials is valid CycloneDX, the same each time, and complete for every component", async () => {
  const text = await createSbom();
  expect(await createSbom()).toBe(text);
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ["spdx", "jsf-0.82"]) {
    ajv.addSchema(await readSchema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  const validate = ajv.compile(await readSchema("bom-1.6"));
  const sbom = JSON.parse(text) as Sbom;
  validate(sbom);
  expect(validate.errors).toBe(null);
  const versions = new Map(sbom.components.map((component) => [nameOf(component), component.version]));
  for (const [name, version] of Object.entries(dependencies))
    expect(`${name} ${versions.get(name)}`).toBe(`${name} ${version}`);
  for (const { purl, licenses, hashes } of sbom.components) {
    expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/);
    expect([licenses.length, hashes.length]).toEqual([1, 1]);
  }
});

test("every package in the bundle is in the bill of materials, in its version", async () => {
  const built = await Bun.build({
    entrypoints: [join(root, "src/main.ts"), join(root, "src/dashboard/main.tsx")],
    target: "bun",
    metafile: true,
    throw: false,
  });
  expect(built.logs.filter(({ level }) => level === "error")).toEqual([]);
  const inputs = Object.values(built.metafile?.outputs ?? {}).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs.flatMap(([path, { bytesInOutput }]) => {
    const match = /^(?:.*node_modules\/)(?:@[^/]+\/)?[^/]+/.exec(path);
    return match === null || bytesInOutput === 0 ? [] : [match[0]];
  });
  const sbom = JSON.parse(await createSbom()) as Sbom;
  const known = new Set(sbom.components.map((component) => `${nameOf(component)}@${component.version}`));
  const bundled = [...new Set(folders)];
  expect(bundled.length).toBeGreaterThan(40);
  for (const path of bundled) {
    const { name, version } = await Bun.file(join(root, path, "package.json")).json();
    expect(known).toContain(`${name}@${version}`);
  }
});
