/**
 * Addresses of images, files and audio in a request. A public provider fetches them from its own network, so it
 * receives web addresses unchanged. A server of the operator fetches from inside the operator's network, and some such
 * servers open paths, so it receives no addresses. Instead the gateway downloads the files, from public hosts only, and
 * sends their bytes.
 */
import { badRequest } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/** How many files one request may have fetched: each has up to 20 MB and is held in memory. */
const fetchesMax = 16;

/** Members that name an address: `url`, `image_url`, `file_urls`, `fileUri`. */
const urlName = /(?:^|_)ur[il]s?$|Ur[il]s?$/i;
/** Members that hold media, or an address or a path of it: `image`, `image_url`, `images`, `video_path`, `file_data`, `fileData`. */
const mediaName = /(?:^|_)(?:image|video|audio|file|media)(?:s|_?ur[il]s?|_?data|_?paths?)?$/i;
/** Types of parts that are media: `image`, `image_url`, `input_image`, `input_file`, `document`, `computer_screenshot`. */
const mediaType = /image|video|audio|file|document|screenshot/;
/** Members of media that hold their bytes, an address or a path. */
const contentName = /^(?:source|data|result|path|.*_data|.*_paths?)$/;

/** Members of a free form, which are text to a model: nothing in them is fetched. */
const freeMembers: ReadonlySet<string> = new Set([
  "action",
  "annotations",
  "args",
  "arguments",
  "citations",
  "functionResponse",
  "input_schema",
  "logit_bias",
  "metadata",
  "parameters",
  "response_format",
  "results",
  "schema",
  "tools",
]);

/** Free-form members with JSON schemas. Some servers fetch what a schema refers to. */
const schemaMembers: ReadonlySet<string> = new Set([
  "input_schema",
  "parameters",
  "response_format",
  "schema",
  "tools",
]);
const refName = /^\$(?:dynamic|recursive)?ref$/i;

/** An address in a body, with the object or list that contains it. */
interface Address {
  readonly holder: object;
  readonly key: string | number;
  readonly url: string;
  /** Its place in the body, for errors: `messages[0].content[1].image_url.url`. */
  readonly param: string;
}

/** A file that was fetched. */
export interface FetchedFile {
  readonly mediaType: string;
  readonly base64: string;
}

/**
 * A body without addresses, for a server of the operator's own.
 *
 * @param fetch Fetches a public file.
 * @returns The body itself where it has no address.
 * @throws {GatewayError} `invalid_request` for a file that cannot be fetched, and for anything else in the place of an address.
 */
export async function withFilesFor(
  body: unknown,
  fetch: (url: string, param: string) => Promise<FetchedFile>,
): Promise<unknown> {
  const addresses = new AddressFinder(true).find(body);
  if (addresses.length === 0) return body;
  const urls = new Map<string, Promise<FetchedFile>>();
  for (const { url, param } of addresses) {
    if (urls.has(url)) continue;
    if (urls.size >= fetchesMax) {
      throw badRequest(`The request has more than ${fetchesMax} URLs of files; send the others as data URLs`, param);
    }
    urls.set(url, fetch(url, param));
  }
  const files = new Map<string, FetchedFile>();
  for (const [url, file] of await Promise.all([...urls].map(async ([url, file]) => [url, await file] as const))) {
    files.set(url, file);
  }
  return replaceAddresses(
    body,
    Map.groupBy(addresses, ({ holder }) => holder),
    files,
  );
}

/**
 * Refuses addresses that are not of the web, such as `file:`, whoever serves the request.
 *
 * @throws {GatewayError} `invalid_request`, which names the field.
 */
export function refuseOtherSchemes(body: unknown): void {
  new AddressFinder(false).find(body);
}

/** Refuses an address in a field of a form, which goes to a server of the operator's own. @throws {GatewayError} `invalid_request` */
export function refuseFormAddresses(form: FormData): void {
  for (const [name, value] of form) {
    if (typeof value === "string" && mediaName.test(name) && (hasScheme(value) || isPath(value))) throw notSent(name);
  }
}

class AddressFinder {
  readonly #found: Address[] = [];
  readonly #isOwnServer: boolean;
  /** The names and indexes that lead to the value at work. */
  readonly #path: (string | number)[] = [];

  /** @param isOwnServer Whether media must be bytes or web addresses; paths and other schemes are refused. */
  constructor(isOwnServer: boolean) {
    this.#isOwnServer = isOwnServer;
  }

  find(body: unknown): readonly Address[] {
    this.#visit(body, "", false);
    // Some servers of vectors take texts, or addresses of images, by this field.
    const { modality, input } = isRecord(body) ? body : {};
    if (typeof modality === "string" && modality !== "text") {
      this.#visitMember({ holder: body as object, key: "input", name: "media", isMedia: true }, input);
    }
    return this.#found;
  }

  /**
   * @param name Name of the value, or of the list that contains it.
   * @param isMedia Whether it belongs to an image or another file.
   */
  #visit(value: unknown, name: string, isMedia: boolean): void {
    if (Array.isArray(value)) {
      for (let key = 0; key < value.length; key++) this.#visitMember({ holder: value, key, name, isMedia }, value[key]);
    } else if (isRecord(value)) {
      const { type } = value;
      const isPart = isMedia || (typeof type === "string" && mediaType.test(type));
      for (const key in value) {
        // A model wrote these, or they are a document's own text.
        if (this.#isOwnServer && schemaMembers.has(key)) this.#visitSchema(key, value[key]);
        if (freeMembers.has(key) || (key === "input" && isCall(type)) || (key === "data" && type === "text")) continue;
        this.#visitMember({ holder: value, key, name: key, isMedia: isPart && key !== "content" }, value[key]);
      }
    }
  }

  #visitMember({ holder, key, name, isMedia }: Member, value: unknown): void {
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) return;
    if (this.#isOwnServer) this.#judgeRef(key, value);
    if (this.#isOwnServer && key === "voice") this.#judgeVoice(value);
    const isNamed = mediaName.test(name);
    this.#path.push(key);
    if (typeof value !== "string") this.#visit(value, name, isMedia || isNamed);
    else if (isNamed || (isMedia && (urlName.test(name) || contentName.test(name)))) this.#judge(holder, name, value);
    this.#path.pop();
  }

  #judge(holder: object, name: string, url: string): void {
    if (/^\s*data:/i.test(url)) return;
    if (/^https?:\/\//i.test(url)) {
      this.#found.push({ holder, key: this.#path.at(-1) as string | number, url, param: this.#param });
    } else if (hasScheme(url) || (this.#isOwnServer && (urlName.test(name) || (name !== "data" && isPath(url))))) {
      throw notSent(this.#param);
    }
  }

  #visitSchema(key: string | number, value: unknown): void {
    this.#judgeRef(key, value);
    if (typeof value !== "object" || value === null) return;
    this.#path.push(key);
    if (Array.isArray(value)) for (let at = 0; at < value.length; at++) this.#visitSchema(at, value[at]);
    else if (isRecord(value)) for (const name in value) this.#visitSchema(name, value[name]);
    this.#path.pop();
  }

  /** Some servers treat the name of a voice as the name or the address of a file. */
  #judgeVoice(value: unknown): void {
    if (
      typeof value !== "string" ||
      !(/^\s*(?:[a-z][a-z0-9+.-]*:\/|file:)/i.test(value) || isPath(value) || value.includes(".."))
    )
      return;
    this.#path.push("voice");
    throw notSent(this.#param);
  }

  /** A reference of a schema that leads out of it may be an address, or a name that is put together with one. */
  #judgeRef(key: string | number, value: unknown): void {
    if (typeof value !== "string" || typeof key !== "string" || !refName.test(key) || value.startsWith("#")) return;
    this.#path.push(key);
    throw badRequest(
      "This model supports only references within the schema; expected a reference that begins with #",
      this.#param,
    );
  }

  get #param(): string {
    return this.#path
      .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${key}`))
      .join("");
  }
}

/** A value that the walk visits: the object or list that contains it, its key there, and its name. */
interface Member {
  readonly holder: object;
  readonly key: string | number;
  readonly name: string;
  readonly isMedia: boolean;
}

/** A call of a tool, whose input is what the model wrote. */
function isCall(type: unknown): boolean {
  return typeof type === "string" && /(?:tool_use|_call)$/.test(type);
}

function hasScheme(text: string): boolean {
  return /^\s*(?!data:)[a-z][a-z0-9+.-]*:/i.test(text);
}

/** Whether a text is the path of a file; base64 of a JPEG begins with `/9j/`. */
function isPath(text: string): boolean {
  return /^\s*(?:\.{0,2}[/\\]|~)/.test(text) && !text.startsWith("/9j/");
}

function notSent(param: string) {
  return badRequest("This URL cannot be used; expected a data URL, or an https URL of a public host", param);
}

/**
 * Replaces the addresses by files. Returns a copy of each object and list that contains one, directly or deeper; all
 * others are kept as they are.
 */
function replaceAddresses(
  value: unknown,
  addresses: ReadonlyMap<object, readonly Address[]>,
  files: ReadonlyMap<string, FetchedFile>,
): unknown {
  if (typeof value !== "object" || value === null) return value;
  const own = addresses.get(value) ?? [];
  const urlOf = new Map(own.map(({ key, url }) => [String(key), url]));
  let isChanged = own.length > 0;
  const replace = (member: unknown, name: string): unknown => {
    const file = files.get(urlOf.get(name) ?? "");
    const replaced = file === undefined ? replaceAddresses(member, addresses, files) : toDataUrl(file);
    isChanged ||= replaced !== member;
    return replaced;
  };
  if (Array.isArray(value)) {
    const list = value.map((member, index) => replace(member, String(index)));
    return isChanged ? list : value;
  }
  const members = Object.entries(value).map(([name, member]) => [name, replace(member, name)] as const);
  if (!isChanged) return value;
  return own.length === 0 ? Object.fromEntries(members) : withBytes(Object.fromEntries(members), urlOf, files);
}

/** Where a protocol tells bytes from an address by the member, or by a type. */
function withBytes(
  holder: Record<string, unknown>,
  urlOf: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, FetchedFile>,
): Record<string, unknown> {
  const source = holder.type === "url" ? files.get(urlOf.get("url") ?? "") : undefined;
  if (source !== undefined) return { type: "base64", media_type: source.mediaType, data: source.base64 };
  const { file_url: url, ...rest } = holder;
  if (url === undefined || !urlOf.has("file_url")) return holder;
  return { filename: "file", ...rest, file_data: url };
}

function toDataUrl({ mediaType, base64 }: FetchedFile): string {
  return `data:${mediaType};base64,${base64}`;
}
