import { useState } from "react";
import { type Capability, capabilityNames, isRetired, type Model, useModels } from "../../data/models.ts";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { ModelDialog } from "./model-dialog.tsx";
import { ModelsTable } from "./models-table.tsx";

type Kind = "all" | Capability;
type Tier = "all" | "free" | "premium";

const kinds = [["all", "All"], ...Object.entries(capabilityNames)] as readonly (readonly [Kind, string])[];

/** What can be called now, and at what price. */
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
        about="Every model that this gateway serves now. Premium ones are paid from the wallet."
      />
      <section className="card" aria-label="Models">
        <div className="card-head is-ruled">
          <div className="search">
            <Icon name="search" size={16} />
            <input
              className="input"
              type="search"
              aria-label="Search models"
              placeholder="Search by name, alias, owner or voice"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
          </div>
          <select
            className="input input-small"
            aria-label="How it is paid"
            value={tier}
            onChange={(event) => setTier(event.target.value as Tier)}
          >
            <option value="all">Free and premium</option>
            <option value="free">Free quota</option>
            <option value="premium">Premium</option>
          </select>
          <Segmented label="Capability" value={kind} options={kinds} onChoose={setKind} />
        </div>
        <Loaded state={models} lines={8}>
          {({ data }) => {
            const shown = data.filter((model) => fits(model, { search, kind, tier })).sort(byState);
            return shown.length === 0 ? (
              <Empty icon="search" title="No model fits">
                <p>Search for less, or take a filter away.</p>
              </Empty>
            ) : (
              <>
                <ModelsTable models={shown} onShow={setShownModel} />
                <div className="table-foot">
                  {shown.length === data.length ? `${data.length} models` : `${shown.length} of ${data.length} models`}
                </div>
              </>
            );
          }}
        </Loaded>
      </section>
      {shownModel !== undefined && <ModelDialog model={shownModel} onClose={() => setShownModel(undefined)} />}
    </>
  );
}

function fits(model: Model, { search, kind, tier }: { search: string; kind: Kind; tier: Tier }): boolean {
  if (kind !== "all" && model.capability !== kind) return false;
  if (tier !== "all" && model.premium !== (tier === "premium")) return false;
  const words = search.trim().toLowerCase();
  const said = [model.id, model.ownedBy, ...(model.aliases ?? []), ...(model.voices ?? [])];
  return words === "" || said.some((text) => text.toLowerCase().includes(words));
}

/** Those that their providers took away stand last. */
function byState(one: Model, other: Model): number {
  return Number(isRetired(one)) - Number(isRetired(other)) || one.id.localeCompare(other.id);
}
