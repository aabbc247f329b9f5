/** A manifest as the form edits it. */
interface ManifestForm {
  name: string;
  base_url: string;
  credential: "key" | "none";
  models: string;
  input_usd: string;
  output_usd: string;
  /** The dialect options, as JSON. */
  manifest: string;
}

interface Manifest {
  baseUrl?: string;
  credential?: "key" | "none";
  options?: object;
  models?: { id: string; upstreamId?: string }[];
  unlisted?: { prefix?: string };
}

/** The form of a ready manifest, or an empty one. */
export function readForm(manifest: unknown): ManifestForm {
  const { baseUrl = "", credential = "key", options, models = [], unlisted } = (manifest ?? {}) as Manifest;
  const lines = models.map(({ id, upstreamId = id }) => (upstreamId === id ? id : `${id} ${upstreamId}`));
  if (unlisted !== undefined) lines.push("*");
  return {
    name: "",
    base_url: baseUrl,
    credential,
    models: lines.join("\n"),
    input_usd: "",
    output_usd: "",
    manifest: options === undefined ? "" : JSON.stringify(options),
  };
}

/** The manifest of a form. Rows of the ready manifest keep what the form does not show. @throws {Error} */
export function toManifest(form: ManifestForm, ready: unknown): object {
  const { models = [], name: _, unlisted, ...rest } = (ready ?? {}) as Manifest & { name?: string };
  const price = toPrice(form);
  const terms = { premium: price !== undefined, ...(price && { price }) };
  const lines = form.models.split("\n").map((line) => line.trim());
  const rows = lines
    .filter((line) => line !== "" && line !== "*")
    .map((line) => {
      const [id, upstreamId = id] = line.split(/\s+/);
      return { ...models.find((row) => row.id === id), id, upstreamId, ...terms };
    });
  return {
    dialect: "openai",
    ...rest,
    baseUrl: form.base_url.trim(),
    credential: form.credential,
    ...(form.manifest.trim() !== "" && { options: readOptions(form.manifest) }),
    models: rows,
    ...(lines.includes("*") && { unlisted: { ...unlisted, ...terms, price: price ?? free } }),
  };
}

const rate = (usd: string) => ({ usd, per: 1_000_000 });
const free = { inputToken: rate("0"), outputToken: rate("0") };

function toPrice({ input_usd, output_usd }: ManifestForm) {
  const [input, output] = [input_usd.trim(), output_usd.trim()];
  if (input === "" && output === "") return undefined;
  return { inputToken: rate(input || "0"), outputToken: rate(output || "0") };
}

function readOptions(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The dialect options are not JSON; correct or clear them");
  }
}
