import { commandLine } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { describeSession, readBranch, readSessionBill } from "../../reports/index.ts";
import { endBranch } from "../../tenants/index.ts";
import { defineCommand } from "../command.ts";
import { columns, toIsoTime } from "../lib/format.ts";
import { readModelNames } from "../lib/parse.ts";
import { expectAccount, withStore } from "../lib/with-store.ts";

const account = {
  value: "A",
  description: "Id or e-mail of the account, or name of the team",
  required: true,
} as const;

export const sessionShow = defineCommand({
  name: "session show",
  description: "Show what a session cost, by agent and model",
  flags: { account },
  args: ["NAME"],
  example: "session show 0b5e7a52-3c1f-4a55-9a0e-2f1a6b7c8d90 --account ada@example.org",
  async run(context, { args, flags, config, now }) {
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const { id: accountId } = await expectAccount(accounts, flags.account);
        const bill = await readSessionBill(store, { accountId, session: args.NAME });
        if (bill === undefined) throw unknownSession(args.NAME);
        const { models, agents, ...rest } = describeSession(bill, toIsoTime);
        const named = <Row extends { readonly model: string }>(rows: readonly Row[]) =>
          rows.map((row) => ({ ...row, model: nameOfModel(row.model) }));
        const ofAgents = agents.map((agent) => ({ ...agent, models: named(agent.models) }));
        return { session: args.NAME, account: accountId, ...rest, models: named(models), agents: ofAgents };
      },
      now,
    );
    const toRow = ({ calls, errors, running, ...sum }: (typeof json.agents)[number] | typeof json, name: string) => [
      name,
      `${calls}${running > 0 ? ` +${running} running` : ""}`,
      String(errors),
      String(sum.input_cached_tokens),
      String(sum.input_cache_write_tokens),
      String(sum.input_uncached_tokens),
      String(sum.output_tokens),
      `$${sum.cost_usd}`,
      `$${sum.charged_usd}`,
    ];
    const head = ["agent", "calls", "errors", "cache read", "cache write", "rest", "output", "cost", "charged"];
    const rows = json.agents.map((agent) => toRow(agent, `${"  ".repeat(agent.depth)}${toLabel(agent.agent)}`));
    const note = json.complete ? "" : "\nThe session has more calls than are read; its newest ones are missing";
    return { json, text: `${columns([head, ...rows, toRow(json, "all")])}${note}` };
  },
});

export const sessionEnd = defineCommand({
  name: "session end",
  description: "End the running calls of a session or of an agent and all below it, and refuse more for ten minutes",
  flags: { account, agent: { value: "NAME", description: "Only this agent, with everything below it" } },
  args: ["NAME"],
  example: "session end 0b5e7a52-3c1f-4a55-9a0e-2f1a6b7c8d90 --account ada@example.org",
  async run(_context, { args, flags, config, now }) {
    const session = args.NAME;
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const { id: accountId } = await expectAccount(accounts, flags.account);
        const branch = { accountId, session, agent: flags.agent };
        const live = await readBranch(store, branch);
        if (live === undefined) {
          if (flags.agent === undefined) throw unknownSession(session);
          throw new GatewayError("not_found", `No call of this session named the agent ${flags.agent}`);
        }
        const { running } = live;
        const { refusedUntil } = await endBranch(store, { by: commandLine, branch, running }, () => now);
        return { session, account: accountId, agent: flags.agent ?? null, calls: running, refused_until: refusedUntil };
      },
      now,
    );
    const until = toIsoTime(json.refused_until);
    const calls = json.calls === 1 ? "1 running call ends" : `${json.calls} running calls end`;
    return { json: { ...json, refused_until: until }, text: `${calls}; more are refused until ${until}` };
  },
});

function toLabel(agent: string | null): string {
  if (agent === null) return "(session)";
  return agent === "*" ? "(others)" : agent;
}

function unknownSession(session: string): GatewayError {
  return new GatewayError("not_found", `No call of this account named the session ${session}`);
}
