import useSWR, { mutate } from "swr";
import { organization, readPages, request } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { Loaded } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";

/** The account or the provider whose prices a markup raises; without either, the gateway. */
export interface MarkupOwner {
  readonly account?: string;
  readonly provider?: string;
}

const markupsOf = (account: string | undefined) =>
  account === undefined ? organization.markups : organization.projects({ project_id: account }).markups;
const getMarkups = (account: string | undefined) =>
  account === undefined
    ? readPages((query) => request(organization.markups.get({ query })))
    : readPages((query) => request(organization.projects({ project_id: account }).markups.get({ query })));

type Markup = Awaited<ReturnType<typeof getMarkups>>[number];

/** The markups of the gateway and its providers, or of an account, for administrators. */
export function useMarkups(account?: string, isShown = true) {
  return useSWR(isShown ? ["markups", account] : null, () => getMarkups(account));
}

/** The markup of a provider's model for accounts without their own, such as "+20 % (provider)", or `undefined`. */
export function describeMarkup(
  markups: readonly Markup[],
  { provider, ofModel }: { readonly provider: string; readonly ofModel: number | undefined },
): string | undefined {
  const find = (name: string | null) => markups.find((markup) => markup.provider === name)?.markup_percent;
  const levels = [
    ["model", ofModel === undefined ? undefined : String(ofModel)],
    ["provider", find(provider)],
    ["gateway", find(null)],
  ] as const;
  const [level, percent] = levels.find(([, value]) => value !== undefined) ?? [];
  if (percent === undefined) return undefined;
  return `${percent.startsWith("-") ? percent : `+${percent}`} % (${level})`;
}

/** The one field of a markup. */
export function MarkupSection({ account, provider, hint }: MarkupOwner & { hint: string }) {
  const markups = useMarkups(account);
  const mayChange = useMayAdminister();
  return (
    <Section title="Markup">
      <Loaded state={markups} lines={2}>
        {(data) => {
          const markup = data.find((one) => one.provider === (provider ?? null));
          const owner = { ...(account !== undefined && { account }), ...(provider !== undefined && { provider }) };
          if (mayChange) return <MarkupForm key={markup?.id} owner={owner} markup={markup} hint={hint} />;
          return (
            <p className="card-body">{markup === undefined ? "No markup of its own" : `${markup.markup_percent} %`}</p>
          );
        }}
      </Loaded>
    </Section>
  );
}

function MarkupForm({
  owner: { account, provider },
  markup,
  hint,
}: {
  owner: MarkupOwner;
  markup: Markup | undefined;
  hint: string;
}) {
  const form = useForm({ percent: markup?.markup_percent ?? "" }, async ({ percent }) => {
    const text = percent.trim();
    if (text !== "") {
      const body = { markup_percent: text, ...(provider !== undefined && { provider }) };
      await request(markupsOf(account).post(body));
    } else if (markup !== undefined) await request(markupsOf(account)({ markup_id: markup.id }).delete());
    await mutate(["markups", account]);
    toast(text === "" ? "The markup is removed" : `Calls are sold at ${text} % above the price`);
  });
  return (
    <Form form={form} className="stack card-body">
      <TextField
        label="Markup (%)"
        inputMode="decimal"
        autoComplete="off"
        maxLength={10}
        {...form.field("percent")}
        hint={hint}
      />
      <div className="row">
        <Submit
          form={form}
          label="Set markup"
          look=""
          isComplete={/^-?\d{1,4}(\.\d{1,2})?$|^$/.test(form.values.percent.trim())}
        />
      </div>
    </Form>
  );
}
