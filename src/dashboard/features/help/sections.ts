import { helpPages, toAnchor } from "./pages.ts";

/** A section of the documentation. */
export interface HelpSection {
  /** Title of its page. */
  readonly page: string;
  readonly heading: string;
  readonly address: string;
  /** All of its text in lower case. */
  readonly searched: string;
}

/** Loads all pages. */
export async function loadSections(): Promise<HelpSection[]> {
  const texts = await Promise.all(helpPages.map(async ({ load }) => (await load()).default));
  return helpPages.flatMap(({ name, title }, place) =>
    (texts[place] ?? "").split(/^(?=#{1,4} )/m).map((text) => {
      const [, marks = "", heading = ""] = /^(#{1,4}) (.*)/.exec(text) ?? [];
      const isTop = marks.length <= 1;
      const address = `/help/${name}${isTop ? "" : `#${toAnchor(heading)}`}`;
      return { page: title, heading: isTop ? title : toPlainText(heading), address, searched: text.toLowerCase() };
    }),
  );
}

/** Sections that have all words of the query in lower case, those with one in their heading first. */
export function findSections(sections: readonly HelpSection[], query: string): HelpSection[] {
  const words = query.split(/\s+/);
  return sections
    .filter(({ searched }) => words.every((word) => searched.includes(word)))
    .toSorted((one, other) => countIn(other.heading, words) - countIn(one.heading, words));
}

export const toPlainText = (heading: string) => heading.replaceAll("`", "");

function countIn(heading: string, words: readonly string[]): number {
  const text = heading.toLowerCase();
  return words.filter((word) => text.includes(word)).length;
}
