import { commandLine } from "../../audit/index.ts";
import { accountLabel } from "../../contract/index.ts";
import { resources } from "../../http/resources/index.ts";
import {
  oneOf,
  pluralOf,
  type Resource,
  type ResourceDeps,
  readColumns,
  secretOf,
  toAnswers,
  type Verb,
} from "../../http/resources/resource.ts";
import { bodyFields, changeFields, type Fields } from "../../lib/fields.ts";
import { modules } from "../../modules/index.ts";
import { SecretBox } from "../../providers/index.ts";
import { type CliContext, type Command, defineCommand, type Flags, type Input, UsageError } from "../command.ts";
import { readFlags, readSecrets, toFlag, toFlags } from "./field-flags.ts";
import { columns } from "./format.ts";
import { readLiveServed, readLiveState } from "./live-state.ts";
import { parseModel, readModelNames } from "./parse.ts";
import { expectAccount, expectRecipient, type OpenedStore, withStore } from "./with-store.ts";

/** The commands of declared things. */
export const declaredCommands: readonly Command[] = [
  ...resources,
  ...modules.flatMap(({ resources: things = [] }) => things),
].flatMap(({ visit }) => visit((resource) => resourceCommands(resource)));

/** The commands `list`, `show`, `create`, `change` and `remove` of a managed thing. */
function resourceCommands<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  resource: Resource<Row, F, Derived>,
): Command[] {
  const { name, fields, eachOwner, commands, create, change, remove, actions = {} } = resource;
  const isOwned = resource.mounts.some(({ owner }) => owner === "project");
  const {
    group = name,
    changeName = "change",
    id: { name: idName, choices: ids } = { name: "ID", choices: undefined },
  } = commands;
  const one = { args: [idName], ...(ids !== undefined && { choices: { [idName]: ids } }) };
  const changeable = Object.fromEntries(Object.entries(fields).filter(([, { changes }]) => changes === true));
  const account = {
    value: "A",
    description: `Id or e-mail of the account, or name of a team (default: each account by itself)`,
  };

  const open = <Result>(
    context: CliContext,
    { config, now }: Pick<Input<Flags, string>, "config" | "now">,
    work: (deps: ResourceDeps, opened: OpenedStore) => Promise<Result>,
  ) =>
    withStore(
      config,
      (opened) => {
        // Read once, and only if there is a model to be named.
        let names: ReturnType<typeof readModelNames> | undefined;
        const modelNameOf = async (id: string) => {
          names ??= readModelNames(context, config);
          return (await names)(id);
        };
        const modelIdOf = (model: string) => parseModel(model, context, config);
        const findProvider = (provider: string) => provider;
        const models = { modelIdOf, countedModelIdOf: modelIdOf, findModel: modelIdOf, findProvider, modelNameOf };
        const readServed = () => readLiveServed(context, config);
        const hasPolicy = (policy: string) => readLiveState(config)?.policies.includes(policy);
        const secrets = new SecretBox(config);
        const deps = { store: opened.store, now: () => now, config, secrets, readServed, hasPolicy };
        return work({ ...deps, ...models }, opened);
      },
      now,
    );
  /** Rows as they are printed: with the account that has them. */
  const toOutput = async (deps: ResourceDeps, { accounts }: OpenedStore, rows: readonly Row[]) => {
    const labels = new Map((await accounts.list()).map((one) => [one.id, accountLabel(one)]));
    const toAnswer = await toAnswers(deps, resource, rows);
    return rows.map((row) => {
      const owner = resource.ownerOf(row);
      const account = owner === eachOwner ? null : (labels.get(owner) ?? owner);
      return { ...(isOwned && { account }), ...toAnswer(row) };
    });
  };
  const printOne = ({ object: _, ...json }: Readonly<Record<string, unknown>>) =>
    columns(Object.entries(json).map(([field, value]) => [field.replaceAll("_", " "), toCell(field, value)]));
  const show = async (deps: ResourceDeps, opened: OpenedStore, row: Row, secret: object = {}) => {
    const [shown] = await toOutput(deps, opened, [row]);
    const json: Readonly<Record<string, unknown>> = { ...shown, ...secret };
    return { json, text: printOne(json) };
  };

  const readOne = (deps: ResourceDeps, { [idName]: id = "" }: Readonly<Record<string, string>>) => {
    if (ids === undefined || ids.includes(id)) return resource.read(deps, undefined, id);
    throw new UsageError(`There is no ${group} ${id}, expected one of ${ids.join(", ")}`);
  };
  const targetOf = (row: Row) => ({ owner: resource.ownerOf(row), id: row.id });
  // A thing that is found by a field has it twice.
  const hidden = new Set(["object", "created_at", ...(Object.hasOwn(fields, resource.idName) ? ["id"] : [])]);
  const onlyOf = { ...account, description: "Only for this account, by id, e-mail or name of a team" };

  const all: Readonly<Record<Verb, Command | undefined>> = {
    list: defineCommand({
      name: `${group} list`,
      description: isOwned ? `List the ${pluralOf(name)} of all accounts, or of one` : `List the ${pluralOf(name)}`,
      flags: (isOwned ? { account: onlyOf } : {}) as Flags,
      args: [],
      example: `${group} list`,
      run: (context, input) =>
        open(context, input, async (deps, opened) => {
          const { account: text } = input.flags;
          const owners = text === undefined ? undefined : [(await expectAccount(opened.accounts, text)).id];
          const rows = await resource.list(deps, owners, { limit: Number.MAX_SAFE_INTEGER });
          const json = await toOutput(deps, opened, rows);
          const empty = `There are no ${pluralOf(name)}; create one with modelgate ${group} create`;
          return { json, text: json.length === 0 ? empty : toTable(json, hidden) };
        }),
    }),
    show: defineCommand({
      ...one,
      name: `${group} show`,
      description: `Show ${oneOf(name)}`,
      flags: {},
      example: `${group} show ${idName}`,
      run: (context, { args, ...input }) =>
        open(context, input, async (deps, opened) => show(deps, opened, await readOne(deps, args))),
    }),
    create:
      create &&
      defineCommand({
        name: `${group} create`,
        description: `Create ${oneOf(name)}`,
        flags: { ...(isOwned && { account }), ...toFlags(fields, { isNew: true }) },
        args: [],
        example: `${group} create ${commands.create}`,
        run: (context, input) =>
          open(context, input, async (deps, opened) => {
            const { account: text, ...flags } = input.flags as Readonly<Record<string, string | undefined>>;
            const owner = text === undefined ? eachOwner : (await expectRecipient(opened.accounts, text)).id;
            const entered = await readSecrets(context, fields, flags);
            const body = await readFlags(fields, bodyFields(fields), { flags: entered, now: input.now });
            const made = await create(deps, commandLine, owner, await readColumns(deps, resource, body));
            return await show(deps, opened, made, secretOf(resource, made));
          }),
      }),
    change:
      change &&
      defineCommand({
        ...one,
        name: `${group} ${changeName}`,
        description: `Change ${oneOf(name)}; none removes an optional value`,
        flags: toFlags(changeable),
        example: `${group} ${changeName} ${commands.change}`,
        run: (context, { args, ...input }) =>
          open(context, input, async (deps, opened) => {
            const flags = input.flags as Readonly<Record<string, string | undefined>>;
            const names = Object.entries(changeable).map(([field, declared]) => `--${toFlag(field, declared)}`);
            if (Object.keys(flags).length === 0) {
              throw new UsageError(`Nothing to change, expected one of ${names.join(", ")}`);
            }
            const body = await readFlags(fields, changeFields(fields), { flags, now: input.now });
            const row = await readOne(deps, args);
            const changes = await readColumns(deps, resource, body);
            return await show(deps, opened, await change(deps, commandLine, targetOf(row), changes));
          }),
      }),
    remove:
      remove &&
      defineCommand({
        ...one,
        name: `${group} remove`,
        description: `Remove ${oneOf(name)}`,
        flags: {},
        example: `${group} remove ${idName}`,
        run: (context, { args, ...input }) =>
          open(context, input, async (deps) => {
            const row = await readOne(deps, args);
            await remove(deps, commandLine, targetOf(row));
            return { json: { id: row.id, deleted: true }, text: `The ${name} ${row.id} is removed` };
          }),
      }),
  };
  const { verbs = resource.verbs } = commands;
  return [
    ...verbs.flatMap((verb) => all[verb] ?? []),
    ...Object.entries(actions).map(([action, { summary, argument = idName, run }]) =>
      defineCommand({
        name: `${group} ${action}`,
        description: summary,
        flags: {},
        args: [argument],
        example: `${group} ${action} ${argument}`,
        run: (context, { args, ...input }) =>
          open(context, input, async (deps, opened) =>
            show(deps, opened, await run(deps, commandLine, args[argument] ?? "")),
          ),
      }),
    ),
  ];
}

/** The columns of a list that have something in any row. */
function toTable(rows: readonly Readonly<Record<string, unknown>>[], hidden: ReadonlySet<string>): string {
  const names = Object.keys(rows[0] ?? {}).filter(
    (field) =>
      !hidden.has(field) && (field === "account" || isOpenQuestion(field) || rows.some((row) => row[field] !== null)),
  );
  const head = names.map((field) => field.replaceAll("_", " "));
  return columns([head, ...rows.map((row) => names.map((field) => toCell(field, row[field])))]);
}

/** Whether only the gateway that runs can say it: without one, the answer is that it is not known. */
function isOpenQuestion(field: string): boolean {
  return field === "is_effective" || field === "is_loaded";
}

function toCell(field: string, value: unknown): string {
  if (value === null && isOpenQuestion(field)) return "not known";
  if (value === null || value === undefined) return field === "account" ? "each" : "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  const isTime = typeof value === "number" && /_(at|until)$/.test(field);
  return isTime ? new Date(value * 1000).toISOString() : String(value);
}
