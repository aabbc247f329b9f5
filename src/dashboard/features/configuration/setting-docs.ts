interface SettingDoc {
  /** The heading above its table. */
  readonly group: string;
  readonly description: string;
}

/** Reads the tables of docs/configuration.md: by the name of the variable, its group and what it sets. */
export function readSettingDocs(markdown: string): ReadonlyMap<string, SettingDoc> {
  const docs = new Map<string, SettingDoc>();
  let group = "";
  for (const line of markdown.split("\n")) {
    const [, heading] = /^### (.+)$/.exec(line) ?? [];
    if (heading !== undefined) group = heading;
    const [, name, description] = /^\| `([A-Z_]+)` *\|[^|]*\|(.*)\|$/.exec(line) ?? [];
    if (name !== undefined && description !== undefined) {
      docs.set(name, { group, description: toPlainText(description.trim()) });
    }
  }
  return docs;
}

/** Without the marks of links and code, as a sentence. A word of code keeps its case. */
function toPlainText(markdown: string): string {
  const text = markdown.replaceAll(/\[([^[\]]{1,100})\]\([^()]{1,100}\)/g, "$1");
  return (text.charAt(0).toUpperCase() + text.slice(1)).replaceAll("`", "");
}
