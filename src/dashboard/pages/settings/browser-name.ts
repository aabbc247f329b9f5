/** Edge and Opera say that they are Chrome too, and all say that they are Mozilla. */
const browsers = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrom(e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
] as const;
const systems = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
] as const;

/** What a browser says it is, in two words. */
export function browserName(userAgent: string | null): string {
  if (userAgent === null) return "Unknown browser";
  const find = (known: readonly (readonly [RegExp, string])[]) => known.find(([mark]) => mark.test(userAgent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  if (browser === undefined) return userAgent.slice(0, 60);
  return system === undefined ? browser : `${browser} on ${system}`;
}
