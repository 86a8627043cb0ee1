"""Reports of runs: figures for papers, and a page that needs nothing but a browser."""

from ._best import plot_best as plot_best
from ._episode import write_animation as write_animation
from ._fields import plot_fields as plot_fields
from ._fitness import plot_fitness as plot_fitness
from ._graph import plot_genome as plot_genome
from ._grid import plot_grid as plot_grid
from ._history import plot_growth as plot_growth
from ._species import plot_species as plot_species
from ._style import PAGE as PAGE
from ._style import new_figure as new_figure
from ._style import save_figure as save_figure
from ._style import style as style
from ._substrate import plot_link_classes as plot_link_classes
from ._substrate import plot_substrate as plot_substrate
from ._sweep_figures import plot_sweep as plot_sweep
from ._write import write_report as write_report
