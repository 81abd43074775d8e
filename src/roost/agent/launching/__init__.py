"""The processes of a run: started, limited, contained, counted by rank; the workers of a replica."""
