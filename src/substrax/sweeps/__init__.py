"""What comparisons of many runs need: rates, tests, intervals, tables."""

from ._machine import machine_facts as machine_facts
from ._machine import machine_lines as machine_lines
from ._seeds import SeedOutcome as SeedOutcome
from ._seeds import read_outcomes as read_outcomes
from ._seeds import seeds_table as seeds_table
from ._seeds import sum_up as sum_up
from ._seeds import summary_sentences as summary_sentences
from ._statistics import Comparison as Comparison
from ._statistics import Rate as Rate
from ._statistics import Ratio as Ratio
from ._statistics import cliffs_delta as cliffs_delta
from ._statistics import fisher as fisher
from ._statistics import holm as holm
from ._statistics import mann_whitney as mann_whitney
from ._statistics import median_of_ratios as median_of_ratios
from ._statistics import p_text as p_text
from ._statistics import quartiles as quartiles
from ._statistics import rate as rate
from ._statistics import ratio_of_medians as ratio_of_medians
from ._statistics import spearman as spearman
from ._statistics import times as times
from ._statistics import wilcoxon as wilcoxon
from ._tables import Table as Table
from ._tables import cell as cell
from ._tables import number as number
from ._tables import seconds as seconds
