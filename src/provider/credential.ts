import { findSecretError } from "../contract/index.ts";

/**
 * Services that give a machine in a cloud its own credentials: a container of ECS or EKS, an instance of EC2, and a
 * machine or container of Google Cloud. They are used only where a credential explicitly says so.
 */
export const machineServices = ["aws-container", "aws-instance", "google"] as const;
export type MachineService = (typeof machineServices)[number];

/** Address of a service of the machine, and the token that it requires. */
export interface MachineAddress {
  readonly url: string;
  /** The token of the container, read anew for each request because it is replaced; absent: none is shown. */
  readonly readToken?: (() => string) | undefined;
}
export type MachineAddresses = Readonly<Partial<Record<MachineService, MachineAddress>>>;

/** One request to a service of the machine. */
export interface MachineRequest {
  /** Behind the service's address; default nothing. */
  readonly path?: string;
  /** Default `GET`. */
  readonly method?: "GET" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
}

/** One field of a credential that has several. */
export interface CredentialField {
  /** In snake_case: `access_key_id` is `<NAME>_ACCESS_KEY_ID` in the environment. */
  readonly name: string;
  /** Label in the dashboard. */
  readonly label: string;
  /** Never shown again once it is set. Default false. */
  readonly secret?: boolean;
  /** Form of a value; required where `baseUrl` puts it into an address. */
  readonly pattern?: string;
  /** Shown as a sample, and used by `plugin check`. Not for secrets. */
  readonly example?: string;
  /** One sentence below the field in the dashboard. */
  readonly hint?: string;
  /** The only values that it has. A field with one value is not asked for in the dashboard. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
  /** A document: in the environment it may be the path of its file, and commas do not divide it. */
  readonly isFile?: boolean;
}

/** One way to sign in at a provider: the fields that belong together. */
export interface CredentialMethod {
  /** In snake_case: its name in the API. */
  readonly name: string;
  /** Its name for people. */
  readonly label: string;
  /** One sentence in the dashboard about where its values come from. */
  readonly hint?: string;
  /** The fields that it needs. */
  readonly fields: readonly string[];
  /** The fields that it can have as well. */
  readonly optional?: readonly string[];
}

export type CredentialFields = Readonly<Record<string, string | undefined>>;

/** A credential that is more than one key. Several of them take turns as keys do. */
export interface CredentialForm {
  readonly fields: readonly CredentialField[];
  /** The ways to sign in, the usual one first. Each has the fields of a whole credential. */
  readonly methods: readonly CredentialMethod[];
  /** Where the provider is by these fields; `undefined` when they do not say. Without it, at the plugin's `baseUrl`. */
  baseUrl?(fields: CredentialFields): string | undefined;
  /** Path between the base URL and the paths of requests: `/projects/PROJECT`. */
  basePath?(fields: CredentialFields): string;
  /** Addresses that these fields fetch their tokens from, in addition to the plugin's `hosts`. */
  tokenUrls?(fields: CredentialFields): readonly string[];
  /** Service of the machine that provides the credentials for these fields; `undefined` if they name no service. */
  machine?(fields: CredentialFields): MachineService | undefined;
  /**
   * Checks a whole set of fields.
   *
   * @returns The error as `field: what was expected`, without the value; `undefined` if the fields are valid.
   */
  check?(fields: CredentialFields): string | undefined;
}

/** One credential of a provider. */
export interface ProviderCredential {
  /** The key, if the plugin's credential is a single key; otherwise empty. */
  readonly key: string;
  /** The fields, if the plugin's credential has several. */
  readonly fields: CredentialFields;
}

/** Whether a plugin's credential has fields. */
export function getForm(credential: "key" | "none" | CredentialForm): CredentialForm | undefined {
  return typeof credential === "string" ? undefined : credential;
}

/**
 * Formats a credential with fields as the text that is stored encrypted and takes turns with others. Secret fields are
 * in an object of their own.
 *
 * @example
 * const form = { fields: [{ name: "region", label: "Region" }], methods: [] };
 * formatCredential(form, { region: "eu-west-1" }); // => '{"plain":{"region":"eu-west-1"},"secret":{}}'
 */
export function formatCredential(form: CredentialForm, values: CredentialFields): string {
  const pick = (secret: boolean) =>
    Object.fromEntries(
      form.fields
        .filter((field) => (field.secret ?? false) === secret && values[field.name] !== undefined)
        .map(({ name }) => [name, values[name]]),
    );
  return JSON.stringify({ plain: pick(false), secret: pick(true) });
}

/** The credential of a text: a key, or what {@link formatCredential} made of fields. */
export function readCredential(text: string): ProviderCredential {
  const parts = split(text);
  return parts === undefined ? { key: text, fields: {} } : { key: "", fields: { ...parts.plain, ...parts.secret } };
}

/** The fields of a credential that may be shown. */
export function getPlainFields(text: string): Readonly<Record<string, string>> {
  return split(text)?.plain ?? {};
}

/** A shorter part of a document does not count as a secret of its own. */
const documentPartMin = 32;

/** Returns the texts of a credential that must never be shown. */
export function getSecrets(text: string): readonly string[] {
  const parts = split(text);
  if (parts === undefined) return [text];
  return Object.values(parts.secret).flatMap((secret) => {
    const document = secret.startsWith("{") ? tryParse(secret) : undefined;
    const members = typeof document === "object" && document !== null ? Object.values(document) : [];
    const long = members.filter(
      (member) => typeof member === "string" && member.length >= documentPartMin && !member.startsWith("https://"),
    );
    return [secret, ...(long as string[])];
  });
}

/** The first way to sign in of which all fields are there. */
export function findMethod({ methods }: CredentialForm, values: CredentialFields): CredentialMethod | undefined {
  return methods.find(({ fields }) => fields.every((name) => values[name] !== undefined));
}

interface Parts {
  readonly plain: Record<string, string>;
  readonly secret: Record<string, string>;
}

function split(text: string): Parts | undefined {
  return text.startsWith('{"plain":') ? (tryParse(text) as Parts | undefined) : undefined;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Finds an unknown, malformed or missing field of a credential. The message has no value.
 *
 * @param nameOf What the caller's people call a field.
 * @returns The field, and the rest of a message; `undefined` when the values are a whole credential.
 */
export function findCredentialError(
  form: CredentialForm,
  values: CredentialFields,
  nameOf: (field: string) => string = (field) => field,
): { field: string; problem: string } | undefined {
  for (const [name, value] of Object.entries(values)) {
    const field = form.fields.find((field) => field.name === name);
    if (field === undefined) {
      const names = form.fields.map((one) => nameOf(one.name)).join(", ");
      return { field: name, problem: `it is unknown, expected some of ${names}` };
    }
    if (value === undefined) continue;
    const isText = field.isFile === true ? /^[^\0]{1,16384}$/u.test(value) : /^[\x21-\x7e]{1,4096}$/.test(value);
    if (!isText) return { field: name, problem: "it is empty or has a space or a character that no such value has" };
    const fault = field.secret === true ? findSecretError(value) : undefined;
    if (fault !== undefined) return { field: name, problem: fault };
    if (field.choices !== undefined && !field.choices.some((choice) => choice.value === value)) {
      const values = field.choices.map((choice) => choice.value).join(" or ");
      return { field: name, problem: `it has another value, expected ${values}` };
    }
    if (field.pattern !== undefined && !new RegExp(`^(?:${field.pattern})$`).test(value)) {
      const sample = field.example === undefined ? "" : `, expected one such as ${field.example}`;
      return { field: name, problem: `it has another form${sample}` };
    }
  }
  if (findMethod(form, values) === undefined) {
    const listMissing = ({ fields }: CredentialMethod) => fields.filter((name) => values[name] === undefined);
    const [nearest = [""]] = form.methods.map(listMissing).sort((one, other) => one.length - other.length);
    const methods = form.methods.map(({ label, fields }) => {
      const names = fields.map(nameOf).join(", ");
      return form.methods.length === 1 ? names : `${names} (${label})`;
    });
    return { field: nearest[0] ?? "", problem: `it is not set, expected ${methods.join("; or ")}` };
  }
  const problem = form.check?.(values);
  if (problem === undefined) return undefined;
  const at = problem.indexOf(": ");
  return { field: problem.slice(0, at), problem: problem.slice(at + 2) };
}
