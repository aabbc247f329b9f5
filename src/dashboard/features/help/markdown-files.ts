import { changelog, helpGroups, helpPages, toHelpAddress } from "./pages.ts";

const markdown = "text/markdown; charset=utf-8";
const plain = "text/plain; charset=utf-8";

/** The documentation for programs: an index in the form of https://llmstxt.org, all of it as one file, and each page. */
export async function makeMarkdownFiles(): Promise<{ path: string; mediaType: string; text: string }[]> {
  const pages = await Promise.all(
    helpPages.map(async ({ name, load }) => ({
      path: toPath(name),
      mediaType: markdown,
      text: linkPages((await load()).default, name),
    })),
  );
  const full = `${summary}\n${pages.map(({ text }) => text.trimEnd()).join("\n\n")}\n`;
  return [
    { path: "/llms.txt", mediaType: plain, text: listPages() },
    { path: "/llms-full.txt", mediaType: plain, text: full },
    ...pages,
  ];
}

const toPath = (name: string) => `/help/${name}.md`;

const summary = `# modelgate

> A gateway for AI models: one API in front of many providers, with API keys, wallets, budgets and a request log. This is
> the documentation of the version that runs here.
`;

/** The index: a title, a summary, and a list of links for each group of pages. */
function listPages(): string {
  const groups = helpGroups.map(({ title, pages }) => {
    const links = pages
      .filter(({ name }) => name !== changelog)
      .map(({ name, title: page, description }) => `- [${page}](${toPath(name)}): ${description}`);
    return `## ${title}\n\n${links.join("\n")}\n`;
  });
  const schema = "- [OpenAPI](/openapi.json): Every endpoint of the API with its base URL and the forms of its bodies";
  const optional = [
    "- [All pages](/llms-full.txt): The whole documentation as one file",
    `- [What's new](${toPath(changelog)}): Changes in each version, and how to upgrade`,
  ];
  return [summary, `## API\n\n${schema}\n`, ...groups, `## Optional\n\n${optional.join("\n")}\n`].join("\n");
}

/** Lets the links of a page lead to the Markdown of other pages, and to the repository for what is not served. */
function linkPages(text: string, page: string): string {
  return text.replaceAll(/\]\(([^()\s]+)\)/g, (_, href: string) => {
    const address = toHelpAddress(href, page);
    return `](${address.replace(/^(\/help\/[\w-]+)/, "$1.md")})`;
  });
}
