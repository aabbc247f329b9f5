/**
 * `npm test`: the suite in a folder for temporary files of its own, which is gone afterwards whatever the tests left in
 * it. What is given is handed on: `npm test -- test/http`.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browserVariable, hasChromium, serveBrowser } from "./browser/chromium.ts";
import { binaryVariable, buildBinary } from "./support/binary.ts";
import { runFolderVariable } from "./support/run-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-tests-"));
// PostgreSQL runs as a user of its own, who has to come through.
chmodSync(folder, 0o711);
const given = process.argv.slice(2);
const env: Record<string, string | undefined> = { ...process.env, TMPDIR: folder, [runFolderVariable]: folder };
// A binary starts in half of the time of the source, and it is what most people run. The quick loop starts none.
const startsGateways = given.length === 0 || given.some((path) => !/test\/(unit|conformance)/.test(path));
if (startsGateways && env[binaryVariable] === undefined) {
  env[binaryVariable] = join(folder, "modelgate");
  buildBinary(env[binaryVariable]);
}
// So is a browser: one serves all files, each of which has its own cookies and storage there.
const opensPages = given.length === 0 || given.some((path) => path.includes("browser"));
const browser = opensPages && hasChromium ? await serveBrowser() : undefined;
if (browser !== undefined) env[browserVariable] = browser.wsEndpoint();
// Many start gateways, databases and browsers of their own and wait for them: on two cores a third worker uses that time.
// The slowest files begin first; `--update-timings` writes anew which those are.
const order = "--timings=test/timings.json";
const suite = Bun.spawn([process.execPath, "test", "--parallel=3", order, ...given], {
  env,
  stdio: ["inherit", "inherit", "inherit"],
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => suite.kill(signal));
const code = await suite.exited;
await browser?.close();
rmSync(folder, { recursive: true, force: true });
process.exit(code);
