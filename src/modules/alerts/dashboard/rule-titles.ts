interface RuleTitle {
  readonly title: string;
  readonly description: string;
  /** The label of its threshold. */
  readonly threshold?: string;
}

/** The rules by name. */
export const ruleTitles: Readonly<Record<string, RuleTitle>> = {
  wallet_low: {
    title: "Wallet low",
    description: "The balance of a wallet is below an amount.",
    threshold: "Below (USD)",
  },
  budget: {
    title: "Budget spent",
    description: "An API key, account, end user, tag, session or model has spent 50, 80 or 100 % of its budget.",
    threshold: "From (%)",
  },
  store_failing: {
    title: "Calls not recorded",
    description: "A gateway has refused calls for half a minute, because its database does not accept writes.",
  },
  calls_failing: {
    title: "Calls failing",
    description: "The share of calls of a gateway that ended with 500 or 503 in 10 minutes and in the last 2.",
    threshold: "More than (%)",
  },
  provider_failing: {
    title: "Provider failing",
    description: "A provider has been failing, or refusing an API key, for a minute.",
  },
  circuit_open: { title: "Circuit open", description: "A route is paused after failures." },
  model_retires: {
    title: "Model retires",
    description: "A provider retires a model that was called in the last 30 days.",
    threshold: "Days before",
  },
  usage_implausible: {
    title: "Usage implausible",
    description: "A provider reported more usage than a call can have.",
  },
  usage_estimated: {
    title: "Usage estimated",
    description: "The share of calls whose usage the provider did not report.",
    threshold: "More than (%)",
  },
  ledger_difference: {
    title: "Ledger difference",
    description: "The daily verification found balances that do not match their entries.",
  },
  disk_full: { title: "Disk nearly full", description: "The disk of the home folder fills up.", threshold: "From (%)" },
};

/** Title of a rule. All rules added by an operator have the same title; their texts distinguish them. */
export function titleOfRule(rule: string): string {
  return rule === "metric" ? "Custom rule" : (ruleTitles[rule]?.title ?? rule);
}
