import { existsSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import manifest from "../package.json" with { type: "json" };
import { root } from "./build.bun.ts";

type Names = Record<string, string>;

/** An entry of `bun.lock`: `name@version`, the registry, what it needs, and its checksum. */
type Locked = readonly [
  id: string,
  registry: string,
  needs: { dependencies?: Names; optionalDependencies?: Names; peerDependencies?: Names; optionalPeers?: string[] },
  checksum: string,
];

/** The Bun of each platform. */
const platformPackages = /^@oven\/bun-/;

/**
 * The software bill of materials of the binary, as CycloneDX 1.6 in JSON: Bun and every package that the program needs,
 * with version, licence, package URL and checksum of `bun.lock`. Two of one commit are equal: it names no time.
 */
export async function createSbom(): Promise<string> {
  const lock = Bun.JSONC.parse(await Bun.file(join(root, "bun.lock")).text()) as { packages: Record<string, Locked> };
  const components = new Map<string, Models.Component>();
  /** The component of a package as the package `from`, a key of the lockfile, finds it; `undefined` when it is not locked. */
  const add = async (name: string, from: string): Promise<Models.Component | undefined> => {
    const key = keysFrom(name, from).find((one) => lock.packages[one] !== undefined);
    if (key === undefined) return undefined;
    const listedComponent = components.get(key);
    if (listedComponent !== undefined) return listedComponent;
    // bunfig.toml has no peers installed but those that package.json names.
    if (!existsSync(packageFile(key)) && !platformPackages.test(key)) return undefined;
    const [id, , needs, checksum] = lock.packages[key] as Locked;
    const component = toComponent(id, checksum);
    component.licenses.add(toLicence(await readLicence(key)));
    components.set(key, component);
    for (const next of [...namesOf(needs.dependencies), ...namesOf(needs.optionalDependencies), ...peersOf(needs)]) {
      const dependency = await add(next, key);
      if (dependency !== undefined) component.dependencies.add(dependency.bomRef);
    }
    return component;
  };
  const { name, version, license, description } = manifest;
  const program = new Models.Component(Enums.ComponentType.Application, name, { version, description, bomRef: name });
  program.licenses.add(toLicence(license));
  for (const direct of Object.keys(manifest.dependencies)) {
    const component = await add(direct, "");
    if (component !== undefined) program.dependencies.add(component.bomRef);
  }
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ component: program }),
    components: new Models.ComponentRepository(components.values()),
  });
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** Where a package is looked for, from its user's own packages outwards: keys of the lockfile, such as `a/b`. */
function keysFrom(name: string, from: string): string[] {
  const parts = partsOf(from);
  return parts.map((_, index) => [...parts.slice(0, parts.length - index), name].join("/")).concat(name);
}

/** `a/@b/c` → `a`, `@b/c`. */
function partsOf(key: string): string[] {
  return key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];
}

function namesOf(packages: Names = {}): string[] {
  return Object.keys(packages);
}

function peersOf({ peerDependencies, optionalPeers = [] }: Locked[2]): string[] {
  return namesOf(peerDependencies).filter((name) => !optionalPeers.includes(name));
}

/** Where the manifest of a package is, once it is installed. */
function packageFile(key: string): string {
  return join(root, ...partsOf(key).flatMap((part) => ["node_modules", part]), "package.json");
}

function toComponent(id: string, checksum: string): Models.Component {
  const at = id.lastIndexOf("@");
  const [name, version] = [id.slice(0, at), id.slice(at + 1)];
  const [group, own] = name.startsWith("@") ? (name.split("/") as [string, string]) : [undefined, name];
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const sha512 = Uint8Array.fromBase64(checksum.replace(/^sha512-/, "")).toHex();
  const component = new Models.Component(Enums.ComponentType.Library, own, { group, version, purl, bomRef: purl });
  component.hashes.set(Enums.HashAlgorithm["SHA-512"], sha512);
  return component;
}

/** `MIT`, or an expression such as `(MIT OR CC0-1.0)`. */
function toLicence(text: string): Models.SpdxLicense | Models.LicenseExpression {
  return text.includes(" ") ? new Models.LicenseExpression(text) : new Models.SpdxLicense(text);
}

/**
 * Reads the licence that an installed package names. The Bun of another platform is not installed; `bun` has its
 * licence.
 */
async function readLicence(key: string): Promise<string> {
  const own = packageFile(key);
  const file = !existsSync(own) && platformPackages.test(key) ? join(root, "node_modules/bun/package.json") : own;
  const { license, licenses } = await Bun.file(file).json();
  return typeof license === "string" ? license : (license ?? licenses[0]).type;
}
