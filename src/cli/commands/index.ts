import { modules } from "../../modules/index.ts";
import type { Command } from "../command.ts";
import { declaredCommands } from "../lib/resource-commands.ts";
import {
  accountCreate,
  accountDisable,
  accountEnable,
  accountInvite,
  accountList,
  accountPassword,
  accountSet,
  accountShow,
  quotaSet,
} from "./account.ts";
import { adminKeyCreate, adminKeyList, adminKeyRevoke } from "./admin-key.ts";
import { auditList } from "./audit.ts";
import { catalogueCheck, models } from "./catalogue.ts";
import { catalogueSign, catalogueUpdate } from "./catalogue-update.ts";
import { defineCompletion } from "./completion.ts";
import { applyConfiguration, exportConfiguration } from "./configuration.ts";
import { exportCallsCommand } from "./export.ts";
import { importLiteLlm, importNewApi, importOpenRouter } from "./import.ts";
import { keyCallers, keyCreate, keyFind, keyList, keyRevoke, keyRotate, keySet } from "./key.ts";
import { ledgerExport, ledgerVerify } from "./ledger.ts";
import { ledgerReconcile } from "./ledger-reconcile.ts";
import { limitSet } from "./limit.ts";
import { login, logout, token } from "./login.ts";
import { nodeList } from "./node.ts";
import { pluginCheck } from "./plugin-check.ts";
import { pluginList } from "./plugin-list.ts";
import { pluginNew } from "./plugin-new.ts";
import { pluginRecord } from "./plugin-record.ts";
import {
  providerAdd,
  providerIncident,
  providerKeyRemove,
  providerKeySet,
  providerList,
  providerRemove,
  providerResume,
  providerSet,
  providerTest,
} from "./provider.ts";
import { requestList, requestShow } from "./request.ts";
import { sessionEnd, sessionShow } from "./session.ts";
import { statementShow } from "./statement.ts";
import { backup, config, health, restore, serve, version } from "./system.ts";
import { teamBudget, teamCreate, teamInvite, teamList, teamRemove, teamSet, teamShow } from "./team.ts";
import { usage } from "./usage.ts";
import { walletCredit, walletDebit, walletList, walletReverse, walletShow } from "./wallet.ts";

const own: readonly Command[] = [
  serve,
  accountCreate,
  accountList,
  accountShow,
  accountSet,
  accountDisable,
  accountEnable,
  accountInvite,
  accountPassword,
  teamList,
  teamShow,
  teamCreate,
  teamInvite,
  teamSet,
  teamRemove,
  teamBudget,
  keyCreate,
  keyList,
  keyFind,
  keyCallers,
  keySet,
  keyRotate,
  keyRevoke,
  ...declaredCommands,
  limitSet,
  adminKeyCreate,
  adminKeyList,
  adminKeyRevoke,
  login,
  token,
  logout,
  applyConfiguration,
  exportConfiguration,
  walletCredit,
  walletDebit,
  walletReverse,
  walletList,
  walletShow,
  statementShow,
  quotaSet,
  models,
  pluginList,
  pluginNew,
  pluginCheck,
  pluginRecord,
  providerList,
  providerIncident,
  providerAdd,
  providerRemove,
  providerSet,
  providerKeySet,
  providerKeyRemove,
  providerTest,
  providerResume,
  catalogueCheck,
  catalogueUpdate,
  catalogueSign,
  importLiteLlm,
  importNewApi,
  importOpenRouter,
  usage,
  requestList,
  requestShow,
  sessionShow,
  sessionEnd,
  exportCallsCommand,
  ledgerVerify,
  ledgerExport,
  ledgerReconcile,
  auditList,
  backup,
  restore,
  nodeList,
  health,
  config,
  defineCompletion(() => commands),
  version,
];

/** Every command, in the order of the help page. A command of a module is listed after the commands of its group. */
export const commands: readonly Command[] = modules
  .flatMap((module) => module.commands ?? [])
  .reduce((list, command) => {
    const place = list.findLastIndex(({ name }) => groupOf(name) === groupOf(command.name));
    return list.toSpliced(place === -1 ? list.length : place + 1, 0, command);
  }, own);

/** `alert list` and `alert-rule list` are of one group. */
function groupOf(name: string): string {
  return name.split(/[ -]/, 1)[0] ?? "";
}
