const authorization = `-H "Authorization: Bearer $MODELGATE_KEY"`;

/** The same call for a terminal, with the key from the environment. */
export function curlOf(url: string, body: unknown, ...more: readonly string[]): string {
  const json = quoted(JSON.stringify(body, null, 2));
  return joined([`curl ${url}`, authorization, `-H "Content-Type: application/json"`, `-d ${json}`, ...more]);
}

/** As {@link curlOf}, of a form with a file. */
export function curlOfForm(url: string, file: string, fields: Readonly<Record<string, string>>): string {
  const form = Object.entries(fields).map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`);
  return joined([`curl ${url}`, authorization, `-F ${quoted(`file=@${file}`)}`, ...form]);
}

function joined(words: readonly string[]): string {
  return words.join(" \\\n  ");
}

/** For a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
