import { formatCount } from "../../../dashboard/format.ts";
import type { ModuleParts } from "../../../dashboard/kit/modules.tsx";
import { AccountContent } from "./account-section.tsx";
import { isKeptOfKey, useContentLog } from "./api.ts";
import { ContentPanel } from "./content-panel.tsx";
import { ContentNotice, ContentSection } from "./own-section.tsx";

export const parts: ModuleParts = {
  places: {
    "account-end": AccountContent,
    "key-badges": KeptBadge,
    "keys-top": ContentNotice,
    "request-detail": ContentPanel,
    "settings-end": ContentSection,
  },
  audit: {
    sentences: {
      "content.view": ({ request }) => `Viewed the content of request ${request}`,
      "content.switch": ({ on, name }) => {
        const whose = name === undefined ? "the account" : `the API key “${name}”`;
        return `${on === true ? "Began" : "Stopped"} keeping prompts and answers of ${whose}`;
      },
      "content.delete": ({ requests }) =>
        `Deleted the prompts and answers of ${formatCount(Number(requests))} requests`,
    },
    groups: [
      {
        name: "content",
        after: "team",
        label: "Prompts and answers",
        actions: { switch: "Keeping switched on or off", view: "Content looked at", delete: "Content deleted" },
      },
    ],
  },
};

function KeptBadge({ keyId }: { keyId: string }) {
  const { data } = useContentLog();
  return data !== undefined && isKeptOfKey(data, keyId) && <span className="badge is-warn">prompts kept</span>;
}
