"""This package draws charts and the picture of where data goes as SVG, and writes numbers as people read them."""
