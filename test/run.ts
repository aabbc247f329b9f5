/**
 * Runs the tests: `npm test` those of `test/unit` and `test/conformance`, `npm run test:all` every one. What follows `--`
 * narrows them: `npm test -- test/unit/http`, `npm test -- tokenizer -t "counts a word"`, `npm run test:all -- test/browser`.
 * A word that is no path selects the files whose path contains it. Flags go to `bun test`; one with a value is written with `=`.
 * `--cpu` is the runner's own: it prints the seconds of CPU that each file took, with all that it started.
 *
 * A run prints what failed, what was skipped and what tests print, not what passed. It has a folder for temporary files of its
 * own, which is gone afterwards, whatever the tests left in it.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { binaryVariable, buildBinary } from "./support/binary.ts";
import { cpuVariable, describeAccount } from "./support/cpu-account.ts";
import { lateOptimization } from "./support/late-optimization.ts";
import { testMsMax } from "./support/long.ts";
import { runFolderVariable } from "./support/run-folder.ts";
import { RunOutput, readReport, summarize } from "./support/run-report.ts";

/** Many tests start gateways, databases and browsers and wait for them: on two cores two more workers use that time. */
const workers = 4;
const quickWorkers = Math.min(availableParallelism() + 1, 8);
const timings = "test/timings.json";
const cpuFlag = "--cpu";
const quickFolders = ["test/unit/", "test/conformance/"];

/** Linux keeps files there in memory, which is the quicker disk: tests make thousands of small databases and remove them. */
const memoryFolder = "/dev/shm";
const roomBytesMin = 12 * 2 ** 30;

/** Every test or hook ends within its limit and is reported then, so a run that reports nothing for longer hangs. */
const silentMsMax = 2 * testMsMax;

const [set, ...given] = process.argv.slice(2);
const { words, flags, isCpuAsked } = readArguments(given);
const files = selectFiles(set === "quick", words);
const isQuick = files.every((file) => quickFolders.some((folder) => file.startsWith(folder)));

const folder = mkdtempSync(join(!isQuick && hasRoomInMemory() ? memoryFolder : tmpdir(), "modelgate-tests-"));
// PostgreSQL runs as a user of its own, who has to come through.
chmodSync(folder, 0o711);
const env: Record<string, string | undefined> = {
  ...lateOptimization,
  ...process.env,
  TMPDIR: folder,
  [runFolderVariable]: folder,
};
const account = join(folder, "cpu");
if (isCpuAsked) env[cpuVariable] = account;
// A binary starts in half of the time of the source, and it is what most people run. The quick tests start none.
if (!isQuick && env[binaryVariable] === undefined) {
  env[binaryVariable] = join(folder, "modelgate");
  buildBinary(env[binaryVariable]);
}

const report = join(folder, "junit.xml");
// Before the suite is there: a signal that came between would end this process alone, and leave the suite to run on.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => suite.kill(signal));
const suite = Bun.spawn(
  [
    process.execPath,
    "test",
    `--parallel=${isQuick ? quickWorkers : workers}`,
    // Tests leave nothing in the global object, so that a worker loads each module once for all of its files.
    "--no-isolate",
    `--timeout=${testMsMax}`,
    // The slowest files begin first; `--update-timings` writes anew which those are.
    ...(existsSync(timings) ? [`--timings=${timings}`] : []),
    "--dots",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...flags,
    ...files.map((file) => `./${file}`),
  ],
  { env, stdio: ["inherit", "inherit", "pipe"] },
);
const output = new RunOutput((text) => process.stdout.write(text), process.stdout.isTTY);
let isSilent = false;
let alarm = setTimeout(endHang, silentMsMax);
function endHang() {
  isSilent = true;
  suite.kill("SIGTERM");
}
for await (const chunk of suite.stderr.pipeThrough(new TextDecoderStream())) {
  output.write(chunk);
  clearTimeout(alarm);
  alarm = setTimeout(endHang, silentMsMax);
}
clearTimeout(alarm);
const code = await suite.exited;
output.end();
const { cpuTime } = suite.resourceUsage() ?? {};
process.stdout.write(
  summarize({
    output,
    files: existsSync(report) ? readReport(await Bun.file(report).text()) : [],
    silentMs: isSilent ? silentMsMax : undefined,
    cpuSeconds: cpuTime && Number(cpuTime.total) / 1e6,
    // The report has tests that `-t` leaves out among those that are skipped.
    listsSkipped: !flags.some((flag) => /^(-t|--test-name-pattern)/.test(flag)),
  }),
);
process.stdout.write(describeAccount(account));
rmSync(folder, { recursive: true, force: true });
process.exit(code);

/** Separates words that select files from flags. The value of `-t` stands apart, as in `bun test`. */
function readArguments(given: string[]): { words: string[]; flags: string[]; isCpuAsked: boolean } {
  const words: string[] = [];
  const flags: string[] = [];
  for (let index = 0; index < given.length; index++) {
    const argument = given[index] as string;
    if (["-t", "--test-name-pattern"].includes(argument)) flags.push(argument, given[++index] ?? "");
    else (argument.startsWith("-") ? flags : words).push(argument);
  }
  return { words, flags: flags.filter((flag) => flag !== cpuFlag), isCpuAsked: flags.includes(cpuFlag) };
}

/** The test files of the set, or those that the words select. Ends the process when a word selects none. */
function selectFiles(quickOnly: boolean, words: string[]): string[] {
  const all = [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync()].sort();
  const ofSet = quickOnly ? all.filter((file) => quickFolders.some((folder) => file.startsWith(folder))) : all;
  if (words.length === 0) return ofSet;
  const selected = words.map((word) => {
    const path = normalize(word).replace(/\/$/, "");
    if (!existsSync(path)) return ofSet.filter((file) => file.includes(word));
    return all.filter((file) => (statSync(path).isDirectory() ? file.startsWith(`${path}/`) : file === path));
  });
  const missing = words.filter((_, index) => selected[index]?.length === 0);
  if (missing.length > 0) {
    console.error(`No test file is or contains: ${missing.join(", ")}`);
    process.exit(1);
  }
  return [...new Set(selected.flat())];
}

/** Whether files can be written to memory: a full run leaves some three gigabytes there until its end. */
function hasRoomInMemory(): boolean {
  if (process.env.TMPDIR !== undefined || !existsSync(memoryFolder)) return false;
  const { bavail, bsize } = statfsSync(memoryFolder);
  const [, available] = /^MemAvailable: +(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
  const mounts = readFileSync("/proc/mounts", "utf8");
  const isExecutable = mounts
    .split("\n")
    .some((line) => / \/dev\/shm tmpfs /.test(line) && !/[ ,]noexec[, ]/.test(line));
  return isExecutable && Math.min(bavail * bsize, Number(available) * 1024) > roomBytesMin;
}
