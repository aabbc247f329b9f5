import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "../..");

/** Where a word must not stand: in prose (pages, comments and texts that people read) or also in names of code. */
type Scope = "prose" | "everywhere";

/**
 * One word, one thing: the words that were private to this project or name a thing a second time, and what stands instead.
 * A word that providers or protocols use as a name (Gemini's `thought`) is no prose.
 */
const words: readonly { word: RegExp; use: string; why: string; scope: Scope; except?: RegExp }[] = [
  { word: /\bthoughts\b/i, use: "reasoning", why: "the API's name for it", scope: "prose" },
  { word: /\bsounds?\b/i, use: "audio", why: "the name of the modality and of its meters", scope: "prose" },
  { word: /\bpictures?\b/i, use: "image", why: "the name of the modality and of its meters", scope: "prose" },
  { word: /\bdearest\b/i, use: "most expensive", why: "plain English", scope: "prose" },
  { word: /\buntold\b/i, use: "not sent", why: "plain English", scope: "everywhere" },
  {
    word: /\bwas told\b.*["'`]/,
    use: "was notified, or what to do",
    why: "an error says what to do",
    scope: "prose",
    except: /^\s*(\*|\/)/,
  },
  { word: /\bnobody is signed in\b/i, use: "not signed in", why: "the usual message", scope: "prose" },
  { word: /\bbreak a promise\b/i, use: "violate …, by name", why: "an error names what is violated", scope: "prose" },
  { word: /\bone true call\b/i, use: "a real call", why: "plain English", scope: "prose" },
  { word: /\bshare among equals\b/i, use: "load-balancing weight", why: "the term of the field", scope: "prose" },
  { word: /\(spec \d/, use: "the fact itself", why: "no specification is part of the repository", scope: "everywhere" },
  {
    word: /(?:\/\*\*|\/\/) (?:Of|By|What|Which|Whose|Who) /,
    use: "a sentence with a subject",
    why: "a comment is read without its code",
    scope: "everywhere",
  },
  { word: /\b\w*[a-z]Fault\b|\bFault[A-Z]\w*/, use: "…Error", why: "errors are named so", scope: "everywhere" },
  {
    word: /\b(?:const|let) (?:asked|found|given|gone|got|heard|held|kept|known|meant|said|sent|taken|told|wanted)\b|\((?:asked|found|given|gone|got|heard|held|kept|known|meant|said|sent|taken|told|wanted)\b(?:: [^()]*)?\) =>/,
    use: "a noun",
    why: "a participle as a variable does not say what the thing is",
    scope: "everywhere",
  },
  {
    word: /["_>]Catalogue["_<]|\bpage Catalogue\b|\bcatalogue files?\b|\bcatalogue (?:has (?:no|changed)|is saved)\b/,
    use: "Models and prices",
    why: "the dashboard's name for it",
    scope: "everywhere",
    except: /^\s*(\*|\/)/,
  },
  { word: /\b[Gg]ateway usage\b|_Gateway_/, use: "Usage", why: "the dashboard's name for it", scope: "everywhere" },
  {
    word: /["_>]First byte\b|\btime to (?:the )?first byte\b|\bfirst byte (?:p\d\d|and duration)\b/,
    use: "time to first token",
    why: "the term of the field",
    scope: "everywhere",
  },
  { word: /\brefused before routing\b/i, use: "Rejected", why: "the term of the field", scope: "everywhere" },
  {
    word: /["_>]Own rules?["_<]|\brules? of (?:one's|your) own\b|\bown rules for metrics\b/i,
    use: "custom rules",
    why: "the dashboard's name for them",
    scope: "prose",
  },
  {
    word: /\b(?:key|secret) is in force\b|\bnot in force\b/i,
    use: "active",
    why: "the usual state",
    scope: "everywhere",
  },
  {
    word: /["_>]Plugin["_<]|\bWarnings of the plugin\b|\b(?:there is no|unknown|by this) plugin\b|\bplugin (?:that )?answered\b/,
    use: "provider",
    why: "what an operator sees; plugin is the word for its author",
    scope: "everywhere",
    except: /^\s*(\*|\/)/,
  },
  {
    word: /\bpremium[ _*]* (?:models?|calls?|ones?)\b|\bnon-premium\b|\b(?:model|call) (?:that )?is (?:not )?premium\b/i,
    use: "paid, or free",
    why: "what it means for who calls it; `premium` is the name of the field",
    scope: "prose",
    except: /^\s*(\*|\/)/,
  },
  { word: /\bthe books\b/i, use: "the ledger", why: "the name of the module", scope: "prose" },
  {
    word: /\b(?:toStandIn|isOfProvider|asksForHour|CallContext|Surroundings|CountedCall|OpenedCall|oneNodeAtATime|LateField|SearchFoot|paintFirst|switchedAway|findObstacle)\b/,
    use: "the term of the glossary",
    why: "names of a design that was left",
    scope: "everywhere",
  },
];

/** The parts of a line that people read: in code its comment and its quoted texts that have a space. */
function getProse(line: string, file: string): string {
  if (file.endsWith(".md")) return line.replaceAll(/`[^`]*`|\]\([^)]*\)|https?:\S+/g, "");
  const text = line.replaceAll(/https?:\S+/g, "");
  if (/^\s*(?:\*|\/\*|\/\/)/.test(text)) return text;
  const comment = / \/\/ (.*)/.exec(text)?.[1] ?? "";
  const quoted = text.match(/"(?:[^"\\]|\\.)* (?:[^"\\]|\\.)*"|`[^`]* [^`]*`|>[^<>{}=;]+</g) ?? [];
  return [comment, ...quoted.map((part) => part.replaceAll(/\$\{[^}]*\}/g, ""))].join("\n");
}

const globs = [
  "src/**/*.{ts,tsx}",
  "plugins/**/*.ts",
  "scripts/**/*.ts",
  "docs/**/*.md",
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];
const files = globs.flatMap((glob) => [...new Glob(glob).scanSync({ cwd: root })]);

/** Finds words that the table replaces, as `file:line: "word" → replacement (reason)`. */
function findWords(file: string, content: string): string[] {
  return content.split("\n").flatMap((line, index) => {
    const prose = getProse(line, file);
    return words.flatMap(({ word, use, why, scope, except }) => {
      const found = word.exec(scope === "prose" ? prose : line);
      if (found === null || except?.test(line)) return [];
      return [`${file}:${index + 1}: "${found[0]}" → ${use} (${why})`];
    });
  });
}

test("no page, comment, text or name uses a word that the vocabulary replaces", () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap((file) => findWords(file, readFileSync(join(root, file), "utf8")))).toEqual([]);
});

test("a replaced word is reported with its file, line and replacement, in prose and not in a provider's name", () => {
  const code = [
    "const thoughts = usage.thoughts;",
    "/** The sound of it. */",
    'throw new Error("takes no pictures");',
    'icon="sound"',
  ].join("\n");
  expect(findWords("a.ts", code)).toEqual([
    'a.ts:2: "sound" → audio (the name of the modality and of its meters)',
    'a.ts:3: "pictures" → image (the name of the modality and of its meters)',
  ]);
  expect(findWords("a.md", "Its thoughts, `thoughts`.")).toEqual([
    'a.md:1: "thoughts" → reasoning (the API\'s name for it)',
  ]);
});
