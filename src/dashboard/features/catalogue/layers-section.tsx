import { Button } from "../../kit/button.tsx";
import { actionsColumn, Table } from "../../kit/table.tsx";
import type { ModelRow } from "../models/api.ts";
import { shortPrice } from "../models/price-lines.ts";
import type { CatalogueModel } from "./api.ts";

/** The fields that a signed file or the operator sets, with the value of each layer. */
export function LayersSection({
  model: { base, signed, own },
  onReset,
}: {
  model: CatalogueModel;
  /** Takes the operator's value of a field out of the form. */
  onReset: (field: string) => void;
}) {
  const fields = [...new Set([...Object.keys(signed ?? {}), ...Object.keys(own ?? {})])].filter(
    (name) => name !== "id",
  );
  if (fields.length === 0) return null;
  return (
    <section aria-label="Where the values come from">
      <Table
        rows={fields}
        rowKey={(field) => field}
        columns={[
          { name: "Field", className: "lead", cell: (field) => field },
          { name: "Provider", className: "break soft", cell: (field) => formatValue(base, field) },
          { name: "Signed file", className: "break soft", cell: (field) => formatValue(signed, field) },
          { name: "Yours", className: "break", cell: (field) => formatValue(own, field) },
          actionsColumn<string>(
            (field) =>
              own !== null &&
              field in own &&
              (base !== null || signed !== null) && (
                <Button look="plain small" aria-label={`Reset ${field}`} onClick={() => onReset(field)}>
                  Reset
                </Button>
              ),
          ),
        ]}
      />
    </section>
  );
}

function formatValue(layer: object | null, field: string): string {
  const value = (layer as Record<string, unknown> | null)?.[field];
  if (value === undefined) return "–";
  if (value === null) return "none";
  if (field === "price") return shortPrice(value as ModelRow["price"])?.usd ?? "–";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
