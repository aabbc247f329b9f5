/**
 * Runs the tests of imperfect servers against mutants of our own readers, and the simulation of the ledger against mutants of what keeps
 * it right through failures. They must kill each: `bun test/mutants.ts`, or with a part of a name for some of them. It takes ten
 * seconds a mutant and more, so it is run by hand when such a part or its test changes.
 */
import { type Edit, SourceCopy } from "./support/mutation.ts";
import { repairs } from "./support/simulation/repairs.ts";

interface Mutant extends Edit {
  name: string;
  /** The test that kills it; by default that of imperfect servers. */
  test?: string;
}

const calls = "src/kernel/normalize/tool-calls.ts";
const form = "src/kernel/upstream/answer-form.ts";
const upstream = "src/kernel/upstream/upstream.ts";
const chat = "src/protocols/openai/chat.ts";
const messages = "src/protocols/messages/provider-stream.ts";
const responses = "src/protocols/responses/provider-stream.ts";
const converse = "plugins/bedrock/stream.ts";
const repair = "src/protocols/responses/repair.ts";
const usageReport = "src/protocols/openai/usage-report.ts";
const imperfectServers = "test/integration/providers/imperfect-servers.test.ts";
const usagePlaces = "test/integration/providers/usage-places.test.ts";
const passedRepairs = "test/integration/providers/passed-repairs.test.ts";
const streamedCalls = "test/unit/kernel/normalize/streamed-calls.test.ts";
const answerCallIds = "test/unit/kernel/normalize/answer-call-ids.test.ts";
const repeatedCallIds = "test/unit/protocols/repeated-call-ids.test.ts";
const simulation = "test/integration/ledger/simulation.test.ts";

const mutants: readonly Mutant[] = [
  {
    name: "a name begins a call",
    file: calls,
    from: "    return isWhole &&",
    to: "    return name !== '' || isWhole &&",
  },
  { name: "an id is never known again", file: calls, from: "this.#byId.get(id)", to: "undefined" },
  { name: "no name goes on", file: calls, from: "whole.startsWith(name)", to: "false" },
  {
    name: "a place in a chunk is an index",
    test: streamedCalls,
    file: calls,
    from: "piece.isPlaced && name",
    to: "false && name",
  },
  { name: "an index as text is none", file: calls, from: "Number(index) : undefined", to: "undefined : undefined" },
  {
    name: "a repeated call is added",
    file: calls,
    from: "if (isKnown && waiting === undefined) return undefined;",
    to: "",
  },
  { name: "no repeated call is known", file: calls, from: "progress.isSame(whole)", to: "false" },
  {
    name: "a call without a name is sent",
    file: calls,
    from: "return this.#isNamed(call) ? this.#begin(call) : undefined;\n  }\n\n  /** Whether the name",
    to: "return this.#begin(call);\n  }\n\n  /** Whether the name",
  },
  {
    name: "a call without a name is a success",
    file: calls,
    from: "waiting === undefined || progress.length === 0",
    to: "true",
  },
  {
    name: "a last event without items stays empty",
    test: passedRepairs,
    file: repair,
    from: "if (isLast &&",
    to: "if (!isLast && isLast &&",
  },
  {
    name: "arguments of a streamed call are handed on as they came",
    test: passedRepairs,
    file: repair,
    from: "streamed?.arguments.push(text) ?? text",
    to: "text",
  },
  {
    name: "arguments of a whole call are handed on as they came",
    test: passedRepairs,
    file: repair,
    from: "const text = decodeArguments(toAnswerText(item.arguments));",
    to: "const text = toAnswerText(item.arguments);",
  },
  {
    name: "the mark of the end is the end",
    file: "src/kernel/streaming.ts",
    from: "this.#stream.awaitsReport !== true",
    to: "this.#stream.awaitsReport !== undefined",
  },
  {
    name: "a report of a choice replaces another",
    test: usagePlaces,
    file: usageReport,
    from: "choice.index ?? place",
    to: "0",
  },
  {
    name: "a repeated report adds up",
    test: usagePlaces,
    file: usageReport,
    from: "!(isCut && other.isCut) &&",
    to: "false &&",
  },
  {
    name: "choices of one length repeat each other",
    test: usagePlaces,
    file: usageReport,
    from: "!(isCut && other.isCut) &&",
    to: "",
  },
  {
    name: "ids are given out twice",
    test: answerCallIds,
    file: calls,
    from: " && !this.#isTaken(providerId)",
    to: "",
  },
  {
    name: "ids that count calls are kept",
    test: answerCallIds,
    file: calls,
    from: " && !mayComeAgain(providerId, name)",
    to: "",
  },
  {
    name: "calls of one id get the result of the last",
    test: repeatedCallIds,
    file: "src/lib/call-ids.ts",
    from: "Math.min(waiting.answered++, sentIds.length - 1)",
    to: "sentIds.length - 1",
  },
  {
    name: "figures that are texts are none",
    file: "src/provider/chat.ts",
    from: "(figure.test(report) ? Number(report) : report)",
    to: "report",
  },
  {
    name: "ids are given as they came",
    file: "src/lib/call-ids.ts",
    from: "  if (isTaken && (refused",
    to: "  if (charactersMax > 0) return id;\n  if (isTaken && (refused",
  },
  { name: "JSON is taken for events", file: form, from: 'return "json";', to: 'return "events";' },
  { name: "white space is an answer", file: form, from: "    .trimStart();", to: "    .slice(0);" },
  {
    name: "everything has content",
    file: form,
    from: '  return findContent(value, "none", { left: valuesMax });',
    to: "  return value !== undefined;",
  },
  {
    name: "nothing has content",
    file: form,
    from: '  return findContent(value, "none", { left: valuesMax });',
    to: "  return value === findContent;",
  },
  {
    name: "an empty answer stays owed",
    file: upstream,
    from: "      this.#sender.onRefused(request);\n      this.#wasSent",
    to: "      this.#wasSent",
  },
  {
    name: "an empty answer is not sent elsewhere",
    file: upstream,
    from: "this.#sent.filter(({ isEmpty }) => isEmpty)",
    to: "[] as SentRequest[]",
  },
  {
    name: "a report does not count for an empty answer",
    file: upstream,
    from: "this.#usage !== undefined || this.#first !== undefined || this.cutBytes > 0",
    to: "this.cutBytes > 0",
  },
  {
    name: "a list is no stream",
    file: upstream,
    from: "if (Array.isArray(value) && value.every(isRecord))",
    to: "if (Array.isArray(value) && value.length < 0)",
  },
  { name: "lines are no stream", file: upstream, from: "if (!areEvents ||", to: "if (areEvents || !areEvents ||" },
  {
    name: "a message repeats the pieces",
    file: chat,
    from: "if (!this.#begun.has(choice.index) &&",
    to: "if (choice.index !== -1 &&",
  },
  {
    name: "no other field has reasoning",
    file: chat,
    from: '["reasoning_content", "reasoning", "reasoning_text"]',
    to: '["reasoning_content"]',
  },
  {
    name: "blocks of Messages have no index",
    file: messages,
    from: "this.#blocks.get(index) ?? this.#block",
    to: "this.#block",
  },
  { name: "items of Responses have ids alone", file: responses, from: "?? this.#calls.findLast(isOpenAt)", to: "" },
  {
    name: "a whole response is not read",
    file: responses,
    from: "const delta = this.#findRest(response);",
    to: "const delta: ChunkChoice['delta'] = {};",
  },
  {
    name: "arguments at the end are lost",
    file: responses,
    from: "if (call === undefined || call.hasText) return undefined;",
    to: "if (call !== null) return undefined;",
  },
  {
    name: "calls of Converse have one place",
    file: converse,
    from: "this.#calls.get(place));",
    to: "[...this.#calls.values()].at(-1));",
  },
];

const all = [
  ...mutants.map(({ name, test = imperfectServers, ...edit }) => ({ name, test, edits: [edit] })),
  ...repairs.map(({ name, edits }) => ({ name, test: simulation, edits })),
];
const copy = new SourceCopy();
const survivors: string[] = [];
try {
  const [wanted = ""] = process.argv.slice(2);
  for (const { name, test, edits } of all) {
    if (!name.includes(wanted)) continue;
    const takeBack = copy.edit(edits);
    const { exitCode } = Bun.spawnSync(["bun", "test", test, "--bail"], {
      cwd: copy.folder,
      stdout: "ignore",
      stderr: "ignore",
    });
    takeBack();
    console.log(`${exitCode === 0 ? "SURVIVES" : "killed"}  ${name}`);
    if (exitCode === 0) survivors.push(name);
  }
} finally {
  copy.remove();
}
if (survivors.length > 0) throw new Error(`${survivors.length} mutants survive: ${survivors.join(", ")}`);
