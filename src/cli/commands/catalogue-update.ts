import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, getCatalogueFolder } from "../../config/index.ts";
import { isLoopback } from "../../contract/index.ts";
import { readShort } from "../../lib/read-short.ts";
import { compareModels } from "../../providers/compare-models.ts";
import { parseFile, readTextFile } from "../../providers/read-files.ts";
import { prepareFile, replaceFile } from "../../providers/write-file.ts";
import { type CliContext, defineCommand, UsageError } from "../command.ts";
import { loadOffline } from "../lib/catalogue.ts";
import { checkCatalogue, isSigned, type SignedCatalogue, signCatalogue } from "../lib/signed-catalogue.ts";
import { isUnreachable, UnreachableError } from "../unreachable.ts";

/** File that `catalogue update` writes into the folder of the operator's own rows. */
const updateName = "update.json";
const downloadBytesMax = 8 * 1024 * 1024;
const downloadMsMax = 30_000;

export const catalogueUpdate = defineCommand({
  name: "catalogue update",
  description: "Update models and prices from a signed file or URL; without --yes, only show the changes",
  flags: { yes: { value: "", description: "Write the file; a running gateway uses it within two seconds" } },
  args: ["FILE"],
  example: "catalogue update https://prices.example.com/modelgate.json --yes",
  async run(context, { config, args, flags }) {
    const file = args.FILE;
    const catalogue = await within(file, async () => checkCatalogue(parseFile(await read(file))));
    checkSignature(file, catalogue, config);
    const target = join(getCatalogueFolder(config).path, updateName);
    expectNewer(target, { file, catalogue });
    const changes = await preview(context, config, { file, catalogue });
    if (flags.yes !== undefined) install(target, { file, catalogue });
    const end =
      flags.yes === undefined ? "Nothing was written; add --yes to apply it" : `In force: serial ${catalogue.serial}`;
    const json = { serial: catalogue.serial, changes, written: flags.yes !== undefined };
    return { json, text: [...(changes.length === 0 ? ["No model changes"] : changes), "", end].join("\n") };
  },
});

export const catalogueSign = defineCommand({
  name: "catalogue sign",
  description: "Sign a price file for catalogue update, in place, and print the public key",
  flags: { key: { value: "PEM", description: "File of the Ed25519 private key", required: true } },
  args: ["FILE"],
  example: "catalogue sign prices.json --key private.pem",
  async run(_, { args, flags }) {
    const catalogue = await within(args.FILE, async () => checkCatalogue(parseFile(readTextFile(args.FILE))));
    const { signed, publicKey } = await within(flags.key, async () =>
      signCatalogue(catalogue, readTextFile(flags.key)),
    );
    replaceFile(args.FILE, `${JSON.stringify(signed, null, 2)}\n`);
    const text = `Signed serial ${signed.serial}. Gateways that use it need CATALOGUE_PUBLIC_KEY=${publicKey}`;
    return { json: { serial: signed.serial, public_key: publicKey }, text };
  },
});

/** Names the file in what goes wrong with it. @throws {UsageError | UnreachableError} */
async function within<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): UsageError | UnreachableError {
  const message = `Cannot use ${file}: ${error instanceof Error ? error.message : String(error)}`;
  return isUnreachable(error) ? new UnreachableError(message) : new UsageError(message);
}

function checkSignature(file: string, catalogue: SignedCatalogue, { cataloguePublicKey: key }: Config): void {
  if (key === undefined) {
    throw new UsageError(`Cannot check ${file}: set CATALOGUE_PUBLIC_KEY to the public key of its author`);
  }
  if (catalogue.signature === undefined) {
    throw new UsageError(
      `Cannot use ${file}: it has no signature; its author can sign it with modelgate catalogue sign`,
    );
  }
  if (!isSigned(catalogue, key)) {
    const advice = "download the file from its author again, or set CATALOGUE_PUBLIC_KEY to the author's key";
    throw new UsageError(
      `Cannot use ${file}: its signature does not match the file and CATALOGUE_PUBLIC_KEY; ${advice}`,
    );
  }
}

async function read(place: string): Promise<string> {
  if (!/^https?:/.test(place)) return readTextFile(place);
  const url = new URL(place);
  if (url.protocol === "http:" && !isLoopback(url.hostname))
    throw new Error("it is not https; take it from an https address");
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadMsMax) });
  if (!response.ok) throw new Error(`it answered ${response.status}; check the address`);
  const tooLarge = () => new Error(`it has more than ${downloadBytesMax} bytes; is it the right address?`);
  return await readShort(response.body, downloadBytesMax, tooLarge);
}

interface Update {
  readonly file: string;
  readonly catalogue: SignedCatalogue;
}

/** @throws {UsageError} When a file of the same serial or a higher one is in force, or it cannot be read. */
function expectNewer(target: string, { file, catalogue }: Update): void {
  const before = readInstalled(target);
  if (before === undefined || before.serial < catalogue.serial) return;
  const advice = "use a newer file; the current one stays active";
  throw new UsageError(
    `Cannot use ${file}: its serial is ${catalogue.serial}, ${before.serial} is in force; ${advice}`,
  );
}

function readInstalled(target: string): SignedCatalogue | undefined {
  if (!existsSync(target)) return undefined;
  try {
    return checkCatalogue(parseFile(readFileSync(target, "utf8")));
  } catch (error) {
    throw unusable(`${target}, which is in force`, error);
  }
}

/** Previews the changes of a catalogue. @throws {UsageError} When it would refuse some of the file. */
async function preview(context: CliContext, config: Config, { file, catalogue }: Update): Promise<string[]> {
  const home = mkdtempSync(join(tmpdir(), "modelgate-update-"));
  try {
    const { path } = getCatalogueFolder(config);
    const trial = getCatalogueFolder({ home }).path;
    if (existsSync(path)) cpSync(path, trial, { recursive: true });
    else mkdirSync(trial);
    const plugins = join(config.home, "plugins");
    if (existsSync(plugins)) symlinkSync(plugins, join(home, "plugins"));
    writeFileSync(join(trial, updateName), JSON.stringify(catalogue));
    const [now, then] = [await loadOffline(context, config), await loadOffline(context, { ...config, home })];
    const [problem] = then.warnings.filter((message) => !now.warnings.includes(message));
    if (problem !== undefined) {
      const reason = problem.replace(`Cannot use catalogue/${updateName}: `, "").replace(/; its last .*/, "");
      throw new UsageError(`Cannot use ${file}: ${reason}; the models and prices in force stay`);
    }
    const before = new Map(now.plugins.map(({ name, models }) => [name, models]));
    return then.plugins.flatMap(({ name, models }) =>
      compareModels(before.get(name) ?? [], models).map((line) => `${name}: ${line}`),
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * Installs the file. Another update may have installed a newer one during the preview, which takes seconds, so the
 * serial is compared again.
 */
function install(target: string, { file, catalogue }: Update): void {
  const fresh = prepareFile(target, `${JSON.stringify(catalogue, null, 2)}\n`);
  try {
    expectNewer(target, { file, catalogue });
    fresh.place();
  } catch (error) {
    fresh.discard();
    throw error;
  }
}
