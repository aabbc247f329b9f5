import type { Command } from "../command.ts";
import { accountCreate } from "./account-create.ts";
import { accountInvite } from "./account-invite.ts";
import { accountList } from "./account-list.ts";
import { accountPassword } from "./account-password.ts";
import { accountShow } from "./account-show.ts";
import { backup } from "./backup.ts";
import { catalogueCheck } from "./catalogue-check.ts";
import { config } from "./config.ts";
import { health } from "./health.ts";
import { keyCreate } from "./key-create.ts";
import { keyList } from "./key-list.ts";
import { keyRevoke } from "./key-revoke.ts";
import { keySet } from "./key-set.ts";
import { ledgerExport } from "./ledger-export.ts";
import { ledgerReconcile } from "./ledger-reconcile.ts";
import { ledgerVerify } from "./ledger-verify.ts";
import { models } from "./models.ts";
import { pluginCheck } from "./plugin-check.ts";
import { pluginList } from "./plugin-list.ts";
import { pluginNew } from "./plugin-new.ts";
import { pluginRecord } from "./plugin-record.ts";
import { pluginUpgrade } from "./plugin-upgrade.ts";
import { quotaSet } from "./quota-set.ts";
import { serve } from "./serve.ts";
import { version } from "./version.ts";
import { voucherCreate } from "./voucher-create.ts";
import { voucherList } from "./voucher-list.ts";
import { voucherVoid } from "./voucher-void.ts";
import { walletCredit } from "./wallet-credit.ts";
import { walletDebit } from "./wallet-debit.ts";
import { walletShow } from "./wallet-show.ts";

/** Every command, in the order of the help page. */
export const commands: readonly Command[] = [
  serve,
  accountCreate,
  accountList,
  accountShow,
  accountInvite,
  accountPassword,
  keyCreate,
  keyList,
  keySet,
  keyRevoke,
  walletCredit,
  walletDebit,
  walletShow,
  voucherCreate,
  voucherList,
  voucherVoid,
  quotaSet,
  models,
  pluginList,
  pluginNew,
  pluginCheck,
  pluginRecord,
  pluginUpgrade,
  catalogueCheck,
  ledgerVerify,
  ledgerExport,
  ledgerReconcile,
  backup,
  health,
  config,
  version,
];
