import { type Capability, capabilityNames, isRetired, type Model, useModels } from "../../data/models.ts";
import { Loaded } from "../../ui/feedback.tsx";
import { SearchField, Select } from "../../ui/field.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { useParam } from "../../ui/use-param.ts";
import { ModelDialog } from "./model-dialog.tsx";
import { ModelsTable } from "./models-table.tsx";

type Kind = "all" | Capability;
type Tier = "all" | "free" | "premium";

const kinds = [["all", "All"], ...Object.entries(capabilityNames)] as readonly (readonly [Kind, string])[];
const kindNames = kinds.map(([kind]) => kind);
const tiers = [
  ["all", "All billing"],
  ["free", "Free quota"],
  ["premium", "Wallet"],
] as const satisfies readonly (readonly [Tier, string])[];
const tierNames = tiers.map(([tier]) => tier);

export default function ModelsPage() {
  const models = useModels();
  const [search, setSearch] = useParam("search", "");
  const [kind, setKind] = useParam<Kind>("capability", "all", kindNames);
  const [tier, setTier] = useParam<Tier>("billing", "all", tierNames);
  const [retired, setRetired] = useParam("retired", "hide", ["hide", "show"]);
  const [shownId, setShownId] = useParam("model", "");
  return (
    <>
      <PageHead
        title="Models"
        description="All models available on this gateway. Premium models are charged to your wallet."
      />
      <section className="card" aria-label="Models">
        <div className="card-head is-ruled">
          <SearchField
            label="Search models"
            placeholder="Search by name, alias, provider or voice"
            value={search}
            onText={setSearch}
          />
          <Select isSmall aria-label="Billing" options={tiers} value={tier} onText={setTier} />
          <Segmented label="Capability" value={kind} options={kinds} onChoose={setKind} />
        </div>
        <Loaded state={models} lines={8}>
          {({ data }) => {
            const matching = data.filter((model) => matches(model, { search, kind, tier })).sort(byRetirement);
            const current = matching.filter((model) => !isRetired(model));
            const shown = retired === "show" ? matching : current;
            const shownModel = data.find(({ id }) => id === shownId);
            return (
              <>
                <ModelsTable models={shown} onShow={({ id }) => setShownId(id)} />
                <div className="table-foot">
                  <span>{shown.length === data.length ? data.length : `${shown.length} of ${data.length}`} models</span>
                  {matching.length > current.length && (
                    <label className="check">
                      <input
                        type="checkbox"
                        checked={retired === "show"}
                        onChange={(event) => setRetired(event.target.checked ? "show" : "hide")}
                      />
                      Show retired models ({matching.length - current.length})
                    </label>
                  )}
                </div>
                {shownModel !== undefined && <ModelDialog model={shownModel} onClose={() => setShownId("")} />}
              </>
            );
          }}
        </Loaded>
      </section>
    </>
  );
}

function matches(model: Model, { search, kind, tier }: { search: string; kind: Kind; tier: Tier }): boolean {
  if (kind !== "all" && model.capability !== kind) return false;
  if (tier !== "all" && model.premium !== (tier === "premium")) return false;
  const query = search.trim().toLowerCase();
  const haystack = [model.id, model.ownedBy, ...(model.aliases ?? []), ...(model.voices ?? [])];
  return query === "" || haystack.some((text) => text.toLowerCase().includes(query));
}

/** Retired models last. */
function byRetirement(one: Model, other: Model): number {
  return Number(isRetired(one)) - Number(isRetired(other)) || one.id.localeCompare(other.id);
}
