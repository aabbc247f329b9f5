import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { Check, SearchField, Select } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { useChoice, useParam } from "../../kit/url-state.ts";
import {
  byName,
  type Capability,
  capabilityChoices,
  featureNames,
  listFeatures,
  listOtherNames,
  type Model,
  useModels,
} from "./api.ts";
import { ModelDialog } from "./model-dialog.tsx";
import { ModelsTable } from "./models-table.tsx";
import { Performance } from "./performance.tsx";
import { isRetired } from "./retirement.ts";

const views = [
  ["catalogue", "Models and prices"],
  ["performance", "Performance"],
] as const;
type Kind = "all" | Capability;
type Tier = "all" | "free" | "premium";

const kinds = [["all", "All"] as const, ...capabilityChoices];
const tiers = [
  ["all", "All billing"],
  ["free", "Free quota"],
  ["premium", "Wallet"],
] as const satisfies readonly (readonly [Tier, string])[];
const abilities = [["any", "All features"], ...Object.entries(featureNames)] as readonly (readonly [string, string])[];

export default function ModelsPage() {
  const models = useModels();
  const [search, setSearch] = useParam("search");
  const [kind, setKind] = useChoice("capability", kinds);
  const [tier, setTier] = useChoice("billing", tiers);
  const [feature, setFeature] = useChoice("feature", abilities);
  const [retired, setRetired] = useParam("retired", "hide");
  const [shownId, setShownId] = useParam("model");
  const [view, setView] = useChoice("view", views);
  const { data: me } = useMe();
  const isStaff = me !== undefined && maySeeAll(me.role);
  const shownModel = models.data?.data.find((model) => [model.name, ...listOtherNames(model)].includes(shownId));
  const showsPerformance = isStaff && view === "performance";
  return (
    <>
      <PageHead
        title="Models"
        description="All models available on this gateway. Paid models are charged to your wallet."
      >
        {isStaff && <Segmented label="View" value={view} options={views} onChoose={setView} />}
      </PageHead>
      <div className="stack">
        {shownId !== "" && models.data !== undefined && shownModel === undefined && (
          <Callout tone="warn">
            This gateway has no model <span className="mono break">{shownId}</span> now.{" "}
            <LinkButton onClick={() => setShownId("")}>Dismiss</LinkButton>
          </Callout>
        )}
        <section className="card" aria-label="Models">
          <div className="card-head is-ruled">
            <SearchField
              label="Search models"
              placeholder="Name, alias, provider, voice"
              value={search}
              onText={setSearch}
            />
            {!showsPerformance && (
              <>
                <Select isSmall aria-label="Feature" options={abilities} value={feature} onText={setFeature} />
                <Select isSmall aria-label="Billing" options={tiers} value={tier} onText={setTier} />
                <Segmented label="Capability" value={kind} options={kinds} onChoose={setKind} />
              </>
            )}
          </div>
          {showsPerformance ? (
            <Performance search={search} onShow={setShownId} />
          ) : (
            <Loaded state={models} lines={8}>
              {({ data }) => {
                const matching = data.filter((model) => matches(model, { search, kind, tier, feature })).sort(byName);
                const current = matching.filter((model) => !isRetired(model));
                const shown = retired === "show" ? matching : current;
                return (
                  <>
                    <ModelsTable models={shown} onShow={({ name }) => setShownId(name)} />
                    <div className="table-foot">
                      <span>
                        {shown.length === data.length ? data.length : `${shown.length} of ${data.length}`} models
                      </span>
                      {matching.length > current.length && (
                        <Check
                          checked={retired === "show"}
                          onCheck={(isChecked) => setRetired(isChecked ? "show" : "hide")}
                        >
                          Show retired models ({matching.length - current.length})
                        </Check>
                      )}
                    </div>
                  </>
                );
              }}
            </Loaded>
          )}
        </section>
      </div>
      {shownModel !== undefined && <ModelDialog model={shownModel} onClose={() => setShownId("")} />}
    </>
  );
}

interface Filters {
  readonly search: string;
  readonly kind: Kind;
  readonly tier: Tier;
  readonly feature: string;
}

function matches(model: Model, { search, kind, tier, feature }: Filters): boolean {
  if (kind !== "all" && model.capability !== kind) return false;
  if (tier !== "all" && model.premium !== (tier === "premium")) return false;
  if (feature !== "any" && !listFeatures(model).includes(feature)) return false;
  const query = search.trim().toLowerCase();
  const haystack = [model.id, model.name, model.ownedBy, ...(model.aliases ?? []), ...(model.voices ?? [])];
  if (model.simulated === true) haystack.push("simulated");
  return query === "" || haystack.some((text) => text.toLowerCase().includes(query));
}
