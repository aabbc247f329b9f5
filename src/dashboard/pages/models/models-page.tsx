import { useState } from "react";
import { type Capability, capabilityNames, isRetired, type Model, useModels } from "../../data/models.ts";
import { Loaded } from "../../ui/feedback.tsx";
import { SearchField, Select } from "../../ui/field.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { ModelDialog } from "./model-dialog.tsx";
import { ModelsTable } from "./models-table.tsx";

type Kind = "all" | Capability;
type Tier = "all" | "free" | "premium";

const kinds = [["all", "All"], ...Object.entries(capabilityNames)] as readonly (readonly [Kind, string])[];
const tiers = [
  ["all", "All billing"],
  ["free", "Free quota"],
  ["premium", "Wallet"],
] as const satisfies readonly (readonly [Tier, string])[];

export default function ModelsPage() {
  const models = useModels();
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState<Kind>("all");
  const [tier, setTier] = useState<Tier>("all");
  const [shownModel, setShownModel] = useState<Model>();
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
            const shown = data.filter((model) => matches(model, { search, kind, tier })).sort(byRetirement);
            return (
              <>
                <ModelsTable models={shown} onShow={setShownModel} />
                {shown.length > 0 && (
                  <div className="table-foot">
                    {shown.length === data.length ? data.length : `${shown.length} of ${data.length}`} models
                  </div>
                )}
              </>
            );
          }}
        </Loaded>
      </section>
      {shownModel !== undefined && <ModelDialog model={shownModel} onClose={() => setShownModel(undefined)} />}
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
