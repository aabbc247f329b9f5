import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import azure from "../../../plugins/azure/index.ts";
import { type ConfigError, describeConfig, readConfig } from "../../../src/config/index.ts";
import { settings } from "../../../src/config/settings.ts";
import { findSecretError } from "../../../src/contract/index.ts";
import { findCredentialError } from "../../../src/provider/index.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-secrets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function refusalOf(
  env: Readonly<Record<string, string>>,
  read = (_: ReturnType<typeof readConfig>): unknown => _,
): ConfigError {
  try {
    read(readConfig(env));
  } catch (error) {
    return error as ConfigError;
  }
  throw new Error("The configuration was accepted");
}

const readOpenai = ({ credentials }: ReturnType<typeof readConfig>) => credentials({ name: "openai" });

/** A value that each secret setting takes. */
const samples: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://user:password@127.0.0.1:5432/gate",
  REDIS_URL: "redis://127.0.0.1:6379/0",
  MODELGATE_BOOTSTRAP_KEY: "sk-mg-first-0123456789abcdef0123",
  OIDC_CLIENT_SECRET: "client-secret",
  SMTP_URL: "smtp://user:password@mail.example.com:587",
  SECRETS_KEY: "0123456789abcdef0123456789abcdef",
  METRICS_TOKEN: "0123456789abcdef",
};
/** What some of them need beside them. */
const others = {
  OIDC_ISSUER: "https://id.example.com",
  OIDC_CLIENT_ID: "gate",
  SMTP_FROM: "gate@example.com",
  DATABASE_URL_FILE: write("database", samples.DATABASE_URL ?? ""),
};
const secretSettings = Object.entries(settings).filter(([, { secret }]) => secret);

test("each secret of the settings has a sample in this test", () => {
  expect(secretSettings.map(([, { variable }]) => variable).sort()).toEqual(Object.keys(samples).sort());
});

test.each(secretSettings)(
  "reads %s from the file that its _FILE variable names, without the line end of an editor",
  (name, { variable }) => {
    const sample = samples[variable] as string;
    const env: Record<string, string> = {
      ...others,
      OIDC_CLIENT_SECRET_FILE: write("oidc", "client"),
      SMTP_URL_FILE: write("smtp", samples.SMTP_URL ?? ""),
    };
    env[`${variable}_FILE`] = write(variable, `${sample}\r\n`);
    const config = readConfig(env);
    expect(config[name as keyof typeof settings]).toBe(sample);
    expect(describeConfig(config)).toContainEqual({ name: variable, value: "set", source: "environment" });
  },
);

test("reads the keys of a provider from a file", () => {
  const file = write("openai", "sk-one,sk-two\n");
  expect(readOpenai(readConfig({ OPENAI_API_KEY_FILE: file })).keys).toEqual(["sk-one", "sk-two"]);
});

test("refuses a secret that is given twice, whose file is not there, or whose file is empty", () => {
  const file = write("openai", "sk-one");
  const twice = refusalOf({ OPENAI_API_KEY: "sk-two", OPENAI_API_KEY_FILE: file }, readOpenai);
  expect(twice.message).toBe(
    "Cannot use OPENAI_API_KEY_FILE: it is set, and so is OPENAI_API_KEY, expected one of them",
  );
  const absent = join(folder, "absent");
  expect(refusalOf({ METRICS_TOKEN_FILE: absent }).message).toBe(
    `Cannot use METRICS_TOKEN_FILE: ${absent} cannot be read (ENOENT), expected the path of a file`,
  );
  const empty = write("empty", "\n");
  expect(refusalOf({ OPENAI_API_KEY_FILE: empty }, readOpenai).message).toBe(
    `Cannot use OPENAI_API_KEY_FILE: ${empty} is empty, expected a file with the secret`,
  );
});

const quoted = ['"sk-secret-of-a-test"', "'sk-secret-of-a-test'", "`sk-secret-of-a-test`"];
const references = [
  "$OPENAI_API_KEY",
  `\${OPENAI_API_KEY}`,
  `\${OPENAI_API_KEY:-}`,
  "$(cat key)",
  "%OPENAI_API_KEY%",
  "{{ .Values.key }}",
  "<key>",
];

test.each([...quoted, ...references])("refuses %s for a secret, in a sentence that does not show it", (text) => {
  const fault = findSecretError(text);
  expect(fault).toBeDefined();
  for (const env of [{ OPENAI_API_KEY: text }, { OPENAI_API_KEY_FILE: write("fault", text) }]) {
    const { message } = refusalOf(env, readOpenai);
    expect(message).toBe(`Cannot use ${Object.keys(env)[0]}: ${fault}`);
    expect(message).not.toContain(text);
  }
  for (const { variable } of secretSettings.map(([, one]) => one)) {
    expect(refusalOf({ [variable]: text }).message).toBe(`Cannot use ${variable}: ${fault}`);
  }
});

test("refuses a quoted key among several", () => {
  expect(refusalOf({ OPENAI_API_KEY: 'sk-one,"sk-two"' }, readOpenai).message).toContain("without quotes");
});

test("refuses them in the secret fields of a cloud", () => {
  const form = azure.credential;
  if (form === undefined || typeof form === "string") throw new Error("Azure has no form");
  const secret = form.fields.find((field) => field.secret === true)?.name as string;
  for (const text of [...quoted, `\${AZURE_API_KEY}`]) {
    expect(findCredentialError(form, { [secret]: text })).toEqual({
      field: secret,
      problem: findSecretError(text) as string,
    });
  }
});

test("takes secrets that only look a little like these", () => {
  for (const text of ["sk-$abc", "$abc-def", 'a"b"', "<a>b", "{a}", "50%", "%41-%42", '{"type":"service_account"}']) {
    expect(findSecretError(text)).toBeUndefined();
  }
});
