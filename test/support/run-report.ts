/** What a run of the tests prints: live what tests print and what fails; at its end failures, skipped tests and counts. */

/** Lines of `bun test` that tell of a failure. Also read by `.ci/failed-tests`. */
const failureLine = /^(\(fail\)|✗|error:|# Unhandled error|Interrupted )/;
const countLine = /^ ?(\d+) (pass|skip|todo|fail|errors?|expect\(\) calls|snapshots?.*)$/;

/** The output of `bun test --dots` as it comes: without dots, and what tests of several files print once. */
export class RunOutput {
  /** Bun's count of the run; empty when it was ended before. */
  readonly counts: string[] = [];
  /** Files that were still running when the run was ended, each with its time so far. */
  readonly unfinished: string[] = [];
  /** Files that were not run to their end because a worker crashed in another one. */
  readonly aborted: string[] = [];
  /** Errors outside of tests, such as a module that cannot be loaded. Bun does not always name the file. */
  readonly strayErrors: string[] = [];
  readonly #print: (text: string) => void;
  readonly #showsDots: boolean;
  readonly #printed = new Set<string>();
  #rest = "";
  #file = "";
  #section: string[] = [];

  constructor(print: (text: string) => void, showsDots = false) {
    this.#print = print;
    this.#showsDots = showsDots;
  }

  write(text: string): void {
    if (this.#showsDots && /^\.+$/.test(text)) this.#print(text);
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  end(): void {
    if (this.#rest !== "") this.#take(this.#rest);
    this.#closeSection();
  }

  #take(full: string) {
    // Dots come before what a test prints, in the same line.
    const line = full.replace(/^\.+(?!\.*[\\/])/, "");
    if (line === "" && full !== "") return;
    if (/^test\/\S+\.test\.tsx?:$/.test(line)) {
      this.#closeSection();
      this.#file = line.slice(0, -1);
    } else if (countLine.test(line)) this.counts.push(` ${line.trim()}`);
    else if (/^Ran \d+ tests? across/.test(line)) this.counts.push(line);
    else this.#section.push(line);
  }

  #closeSection() {
    const lines = this.#section;
    this.#section = [];
    this.#readFailures(lines);
    const isFailure = lines.some((line) => failureLine.test(line));
    const shown = isFailure ? lines : lines.filter((line) => line !== "" && this.#isNew(line));
    if (shown.length > 0) this.#print(`${[this.#file && `\n${this.#file}:`, ...shown].join("\n").trimEnd()}\n`);
  }

  #isNew(line: string): boolean {
    const { size } = this.#printed;
    return this.#printed.add(line).size > size;
  }

  #readFailures(lines: string[]) {
    for (const [index, line] of lines.entries()) {
      const following = lines.slice(index + 1);
      const aborted = /^✗ (\S+) \(aborted/.exec(line)?.[1];
      if (aborted !== undefined) this.aborted.push(aborted);
      if (line.startsWith("# Unhandled error")) {
        this.strayErrors.push(following.find((each) => /^\w*[Ee]rror:/.test(each)) ?? following.join(" "));
      }
      if (!line.startsWith("Interrupted ")) continue;
      this.unfinished.push(...following.filter((each) => /^ +test\//.test(each)).map((each) => each.trim()));
    }
  }
}

/** A test of the JUnit report. */
interface ReportedTest {
  /** With the names of the groups around it. */
  readonly name: string;
  readonly group: string;
  readonly line: string | undefined;
  readonly isSkipped: boolean;
  /** The message of the error and its stack. */
  readonly failure: string | undefined;
}

interface ReportedFile {
  readonly path: string;
  readonly seconds: number;
  readonly tests: readonly ReportedTest[];
}

/** Reads the JUnit report that `bun test` writes. */
export function readReport(xml: string): ReportedFile[] {
  const files: (ReportedFile & { tests: ReportedTest[] })[] = [];
  const groups: string[] = [];
  const elements = /<(\/?)(testsuite|testcase|failure|skipped)\b([^>]*?)(\/?)>([^<]*)/g;
  for (const [, closing, kind, text = "", isEmpty, content = ""] of xml.matchAll(elements)) {
    if (closing) {
      if (kind === "testsuite") groups.pop();
      continue;
    }
    const attributes = new Map([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, decode(value)]));
    const tests = files.at(-1)?.tests ?? [];
    const last = tests.at(-1);
    const name = attributes.get("name") ?? "";
    if (kind === "testsuite") {
      if (groups.length === 0) files.push({ path: name, seconds: Number(attributes.get("time")), tests: [] });
      if (!isEmpty) groups.push(name);
    } else if (kind === "testcase") {
      const group = groups.slice(1).join(" > ");
      // Some names hold an object, which is written over several lines.
      const fullName = [...groups.slice(1), name].join(" > ").replace(/\s+/g, " ");
      tests.push({ name: fullName, group, line: attributes.get("line"), isSkipped: false, failure: undefined });
    } else if (last !== undefined) {
      const stack = decode(content)
        .split("\n")
        .find((line) => /^ +at .*\.test\.tsx?:/.test(line));
      const failure = [attributes.get("message"), stack].filter(Boolean).join("\n");
      tests[tests.length - 1] = { ...last, ...(kind === "skipped" ? { isSkipped: true } : { failure }) };
    }
  }
  return files;
}

function decode(text = ""): string {
  const names: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(?:#(x?)([0-9a-f]+)|(\w+));/gi, (whole, hex, digits, name) =>
    digits === undefined ? (names[name] ?? whole) : String.fromCodePoint(Number.parseInt(digits, hex ? 16 : 10)),
  );
}

interface Run {
  readonly output: RunOutput;
  readonly files: readonly ReportedFile[];
  /** How long nothing was reported before the run was ended for that; absent: it was not. */
  readonly silentMs: number | undefined;
  readonly cpuSeconds: number | undefined;
  readonly listsSkipped: boolean;
}

const factsMax = 12;
const slowestCount = 5;

/** The end of a run: every failure once, tests that were skipped, the slowest files and the counts. */
export function summarize({ output, files, silentMs, cpuSeconds, listsSkipped }: Run): string {
  const { unfinished, aborted, strayErrors } = output;
  // Bun reports a worker that it ends itself like one that crashed.
  const ended = files.filter(({ path }) => !unfinished.some((line) => line.startsWith(path)));
  const failures = ended.flatMap(({ path, tests }) =>
    tests.flatMap(({ name, line, failure }) =>
      failure === undefined ? [] : [[`(fail) ${path}${line ? `:${line}` : ""} ${name}`, ...factsOf(failure)]],
    ),
  );
  for (const error of strayErrors) failures.push(["(fail) an error outside of the tests", `    ${error}`]);
  for (const file of aborted) failures.push([`(fail) ${file} was not run to its end, because a worker crashed`]);
  for (const file of unfinished) failures.push([`(fail) ${file} was running when the run was ended`]);
  if (silentMs !== undefined)
    failures.push([`(fail) nothing was reported for ${silentMs / 1000} s, so the run was ended`]);
  const parts: string[][] = [];
  if (failures.length > 0) parts.push([`${failures.length} failed:`, ...failures.flat()]);
  const skipped = listsSkipped ? files.filter(({ tests }) => tests.some(({ isSkipped }) => isSkipped)) : [];
  if (skipped.length > 0)
    parts.push(["Skipped, for the reasons above or in their names:", ...skipped.flatMap(skippedOf)]);
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, slowestCount);
  if (files.length > 1) {
    parts.push([`Slowest: ${slowest.map(({ path, seconds }) => `${path} ${seconds.toFixed(1)} s`).join(", ")}`]);
  }
  const counts = output.counts.length > 0 ? output.counts : countsOf(files, failures.length);
  if (cpuSeconds !== undefined) counts.push(`It took ${cpuSeconds.toFixed(0)} s of CPU.`);
  parts.push(counts);
  return parts.map((lines) => `\n${lines.join("\n")}\n`).join("");
}

/** The lines of an error that say most: of a long comparison those that differ. */
function factsOf(failure: string): string[] {
  const lines = failure.split("\n").filter((line) => line.trim() !== "" && !/^[-+] (Expected|Received) /.test(line));
  const different = lines.filter((line, index) => index === 0 || /^[-+] /.test(line) || /^ +at /.test(line));
  const facts = different.some((line) => /^[-+] /.test(line)) ? different : lines;
  const shown = facts.length > factsMax ? [...facts.slice(0, factsMax - 1), ...facts.slice(-1)] : facts;
  return shown.map((line) => `    ${line.replace(/^ +at /, "at ")}`);
}

/** Skipped tests of a file, those of a group together. */
function skippedOf({ path, tests }: ReportedFile): string[] {
  const groups = Map.groupBy(
    tests.filter(({ isSkipped }) => isSkipped),
    ({ group }) => group,
  );
  return [...groups].flatMap(([group, members]) =>
    group !== "" && members.length > 1
      ? [`  ${path}: ${group} (${members.length} tests)`]
      : members.map(({ name }) => `  ${path}: ${name}`),
  );
}

function countsOf(files: readonly ReportedFile[], failed: number): string[] {
  const tests = files.flatMap((file) => file.tests);
  const skipped = tests.filter(({ isSkipped }) => isSkipped).length;
  const passed = tests.filter(({ isSkipped, failure }) => !isSkipped && failure === undefined).length;
  return [` ${passed} pass`, ` ${skipped} skip`, ` ${failed} fail`, "The run was ended before its end."];
}
