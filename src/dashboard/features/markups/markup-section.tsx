import useSWR from "swr";
import { organization, readPages, request } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatExactPercent } from "../../format.ts";
import { Loaded, Skeleton } from "../../kit/feedback.tsx";
import { Form, Submit } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";
import { type Resource, removeEntry, saveEntry, useResource } from "../resources/api.ts";
import { Fields, useFields } from "../resources/form.tsx";

/** The account or the provider whose prices a markup raises; without either, the gateway. */
export interface MarkupOwner {
  readonly account?: string;
  readonly provider?: string;
}

const getMarkups = (account: string | undefined) =>
  account === undefined
    ? readPages((query) => request(organization.markups.get({ query })))
    : readPages((query) => request(organization.projects({ project_id: account }).markups.get({ query })));

type Markup = Awaited<ReturnType<typeof getMarkups>>[number];

/** The markups of the gateway and its providers, or of an account, for administrators. */
export function useMarkups(account?: string, isShown = true) {
  return useSWR(isShown ? ["markup", account] : null, () => getMarkups(account));
}

/** A provider's model, with the markup of its own row. */
interface MarkedModel {
  readonly provider: string;
  readonly ofModel: string | undefined;
}

/** The markup of a provider's model for accounts without their own, and whose it is; `undefined`: none. */
export function findMarkup(markups: readonly Markup[], { provider, ofModel }: MarkedModel) {
  const find = (name: string | null) => markups.find((markup) => markup.provider === name)?.markup_percent;
  const levels = [
    ["model", ofModel],
    ["provider", find(provider)],
    ["gateway", find(null)],
  ] as const;
  const [level, percent] = levels.find(([, value]) => value !== undefined) ?? [];
  return percent === undefined ? undefined : { level, percent };
}

/** The same as text, such as "+20 % (provider)". */
export function describeMarkup(markups: readonly Markup[], model: MarkedModel): string | undefined {
  const markup = findMarkup(markups, model);
  if (markup === undefined) return undefined;
  return `${markup.percent.startsWith("-") ? "" : "+"}${formatExactPercent(markup.percent)} (${markup.level})`;
}

/** The one field of a markup. */
export function MarkupSection({ account, provider, hint }: MarkupOwner & { hint: string }) {
  const markups = useMarkups(account);
  const resource = useResource("markup");
  const mayChange = useMayAdminister();
  return (
    <Section title="Markup">
      <Loaded state={markups} lines={2}>
        {(data) => {
          const markup = data.find((one) => one.provider === (provider ?? null));
          const owner = { ...(account !== undefined && { account }), ...(provider !== undefined && { provider }) };
          if (mayChange) {
            if (resource === undefined) return <Skeleton lines={2} />;
            return <MarkupForm key={markup?.id} resource={resource} owner={owner} markup={markup} hint={hint} />;
          }
          return (
            <p className="card-body">
              {markup === undefined ? "No markup of its own" : formatExactPercent(markup.markup_percent)}
            </p>
          );
        }}
      </Loaded>
    </Section>
  );
}

/** Without a percentage there is no markup. */
function MarkupForm({
  resource,
  owner: { account, provider },
  markup,
  hint,
}: {
  resource: Resource;
  owner: MarkupOwner;
  markup: Markup | undefined;
  hint: string;
}) {
  const form = useFields({
    fields: resource.fields,
    entry: markup,
    adjust: ({ name }) => name !== "provider" && { isRequired: false, ...(name === "markup_percent" && { hint }) },
    act: async (body, { markup_percent: percent = "" }) => {
      if (percent.trim() !== "")
        await saveEntry(resource, account, { ...body, ...(provider !== undefined && { provider }) });
      else if (markup !== undefined) await removeEntry(resource, account, markup.id);
      toast(
        percent.trim() === ""
          ? "The markup is removed"
          : `Calls are sold at ${formatExactPercent(percent.trim())} above the price`,
      );
    },
  });
  return (
    <Form form={form} className="stack card-body">
      <Fields form={form} />
      <div className="row">
        <Submit form={form} label="Set markup" look="" isComplete={isPercent(form.texts.markup_percent)} />
      </div>
    </Form>
  );
}

function isPercent(text = ""): boolean {
  return /^-?\d{1,4}(\.\d{1,2})?$|^$/.test(text.trim());
}
