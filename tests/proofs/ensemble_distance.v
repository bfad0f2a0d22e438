(* Theorem ensemble distance of models/mathematics.md. First for any number of classes and any rule `winner` of the vote,
   a turn of member i costing h_i + 1: the least cost moves by at most one. Then for the rule of the program: that the
   formula by which it is found (models/privacy/votes.cpp, overtaking_cost) is the least cost. *)
From Coq Require Import List Lia Arith Bool Permutation Sorted Mergesort Classical_Prop.
Import ListNotations.

Section Ensemble.
Variable winner : list nat -> nat.              (* of the members' labels *)
Definition member : Type := nat * nat.          (* label, stable distance *)
Definition labels (e : list member) := map fst e.

(* What one changed record may do to the member it belongs to (smoothness). *)
Definition moved (m m' : member) : Prop :=
  snd m <= snd m' + 1 /\ snd m' <= snd m + 1 /\ (1 <= snd m \/ 1 <= snd m' -> fst m = fst m').
(* Neighbouring ensembles: one member moved. *)
Definition neighbours (e e' : list member) : Prop :=
  exists before m m' after, e = before ++ m :: after /\ e' = before ++ m' :: after /\ moved m m'.

(* What it costs to turn the members to the labels v. *)
Fixpoint cost (e : list member) (v : list nat) : nat :=
  match e, v with
  | m :: e, l :: v => (if Nat.eqb l (fst m) then 0 else snd m + 1) + cost e v
  | _, _ => 0
  end.
Definition goal (e : list member) (v : list nat) : Prop :=
  length v = length e /\ winner v <> winner (labels e).
(* k is the least cost of turns after which another class wins. *)
Definition least (e : list member) (k : nat) : Prop :=
  (exists v, goal e v /\ cost e v = k) /\ (forall v, goal e v -> k <= cost e v).
(* K_e: the least cost, less one, never below 0 *)
Definition distance (e : list member) (K : nat) : Prop := exists k, least e k /\ K = k - 1.

Lemma cost_app a b : forall v w, length v = length a -> cost (a ++ b) (v ++ w) = cost a v + cost b w.
Proof. induction a; intros [|x v] w H; simpl in *; try lia. rewrite IHa; lia. Qed.
Lemma split_at {A} n : forall v : list A, n <= length v -> exists a b, v = a ++ b /\ length a = n.
Proof. intros v H. exists (firstn n v), (skipn n v). rewrite firstn_skipn, firstn_length_le; auto. Qed.

Lemma one_dearer e e' v : neighbours e e' -> length v = length e -> cost e' v <= cost e v + 1.
Proof.
  intros (b & m & m' & a & -> & -> & H1 & H2 & H3) Hv. rewrite app_length in Hv. simpl in Hv.
  destruct (split_at (length b) v ltac:(lia)) as (x & y & -> & Hx). rewrite app_length in Hv.
  destruct y as [|l y]; simpl in Hv; [lia|]. rewrite !cost_app by assumption. simpl.
  destruct (Nat.eqb_spec l (fst m)), (Nat.eqb_spec l (fst m')); lia.
Qed.
Lemma neighbours_sym e e' : neighbours e e' -> neighbours e' e.
Proof. intros (b & m & m' & a & -> & -> & H1 & H2 & H3). exists b, m', m, a. repeat split; auto.
  intros H. symmetry. apply H3. tauto. Qed.
Lemma same_length e e' : neighbours e e' -> length e = length e'.
Proof. intros (b & m & m' & a & -> & -> & _). rewrite !app_length. reflexivity. Qed.

Lemma cost_self e : cost e (labels e) = 0.
Proof. induction e; simpl; auto. rewrite Nat.eqb_refl. exact IHe. Qed.
(* If the winners differ, one turn of cost 1 goes from one ensemble to the other's labels. *)
Lemma other_winner e e' : neighbours e e' -> winner (labels e) <> winner (labels e') -> cost e (labels e') <= 1.
Proof.
  intros N D. pose proof (one_dearer e' e (labels e') (neighbours_sym _ _ N)) as H.
  unfold labels in H at 1. rewrite map_length in H. specialize (H eq_refl).
  rewrite cost_self in H. lia.
Qed.

Theorem ensemble_distance_is_1_Lipschitz : forall e e' K K',
  neighbours e e' -> distance e K -> distance e' K' -> K <= K' + 1 /\ K' <= K + 1.
Proof.
  assert (main: forall e e' K K', neighbours e e' -> distance e K -> distance e' K' -> K <= K' + 1).
  { intros e e' K K' N (k & ((_ & _ & _) & Hk) & ->) (k' & ((v & (Lv & Gv) & <-) & _) & ->).
    destruct (Nat.eq_dec (winner (labels e)) (winner (labels e'))) as [W|W].
    - assert (goal e v) as G by (split; [rewrite (same_length _ _ N)|rewrite W]; auto).
      specialize (Hk v G). pose proof (one_dearer e' e v (neighbours_sym _ _ N) Lv). lia.
    - assert (goal e (labels e')) as G.
      { split; [unfold labels; rewrite map_length; symmetry; apply same_length; auto|auto]. }
      specialize (Hk _ G). pose proof (other_winner _ _ N W). lia. }
  intros e e' K K' N H H'. split; [exact (main e e' K K' N H H')|exact (main e' e K' K (neighbours_sym _ _ N) H' H)].
Qed.
Theorem equal_winners_unless_both_are_0 : forall e e' K K',
  neighbours e e' -> distance e K -> distance e' K' -> 1 <= K \/ 1 <= K' -> winner (labels e) = winner (labels e').
Proof.
  assert (main: forall e e' K, neighbours e e' -> distance e K -> 1 <= K -> winner (labels e) = winner (labels e')).
  { intros e e' K N (k & (_ & Hk) & ->) HK.
    destruct (Nat.eq_dec (winner (labels e)) (winner (labels e'))) as [W|W]; auto. exfalso.
    assert (goal e (labels e')) as G.
    { split; [unfold labels; rewrite map_length; symmetry; apply same_length; auto|auto]. }
    specialize (Hk _ G). pose proof (other_winner _ _ N W). lia. }
  intros e e' K K' N H H' [A|A]; [exact (main e e' K N H A)|symmetry; exact (main e' e K' (neighbours_sym _ _ N) H' A)].
Qed.

(* Datasets at distance k: a chain. *)
Inductive chain : nat -> list member -> list member -> Prop :=
  | here e : chain 0 e e
  | step k e e' e'' : neighbours e e' -> chain k e' e'' -> chain (S k) e e''.
Theorem the_winner_stands : forall k e e'' K, 
  (forall x, length x = length e -> exists K, distance x K) ->  (* another class can win *)
  chain k e e'' -> distance e K -> k <= K -> winner (labels e'') = winner (labels e).
Proof.
  intros k e e'' K total C. revert K. induction C as [e|k e e' e'' N C IH]; intros K H HK; auto.
  destruct (total e' (eq_sym (same_length _ _ N))) as (K' & H'). destruct (ensemble_distance_is_1_Lipschitz _ _ _ _ N H H') as (A & B).
  assert (total' : forall x, length x = length e' -> exists K, distance x K).
  { intros x Hx. apply total. rewrite Hx. symmetry. apply same_length. exact N. }
  rewrite (IH total' K' H') by lia. symmetry. apply (equal_winners_unless_both_are_0 e e' K K' N H H'). lia.
Qed.
End Ensemble.

(* ---- How the program finds it: for a rival b, the cheapest voters of the winner, and of third classes. ---- *)
Fixpoint sum (l : list nat) : nat := match l with [] => 0 | x :: l => x + sum l end.
(* n of the list, and what they come to *)
Inductive picks : nat -> list nat -> nat -> Prop :=
  | none : picks 0 [] 0
  | take n x l s : picks n l s -> picks (S n) (x :: l) (x + s)
  | skip n x l s : picks n l s -> picks n (x :: l) s.
Definition cheapest (n : nat) (l : list nat) : nat := sum (firstn n (NatSort.sort l)).     (* prefix_sums *)

Lemma picks_permuted l l' : Permutation l l' -> forall n s, picks n l s -> picks n l' s.
Proof.
  intros P. induction P as [|x l l' P IH|x y l|l l' l'' P IH P' IH']; intros n s H; auto.
  - inversion H; subst; constructor; auto.
  - inversion H as [|n1 ? ? s1 H1|n1 ? ? s1 H1]; subst; inversion H1; subst.
    + match goal with |- picks _ _ (?u + (?t + ?z)) => replace (u + (t + z)) with (t + (u + z)) by lia end. repeat constructor. assumption.
    + apply skip. constructor. assumption.
    + constructor. apply skip. assumption.
    + repeat apply skip. assumption.
Qed.
Lemma picks_all_first n l : n <= length l -> picks n l (sum (firstn n l)).
Proof.
  revert n. induction l as [|x l IH]; intros [|n] H; simpl in *; try lia; try constructor.
  - clear. induction l; constructor. assumption.
  - apply IH. lia.
Qed.
Lemma picks_length n l s : picks n l s -> n <= length l.
Proof. induction 1; simpl; lia. Qed.
Lemma first_least l : StronglySorted le l -> forall n s, picks n l s -> sum (firstn n l) <= s.
Proof.
  intros O. induction O as [|x l O IH F]; intros n s H.
  - inversion H. simpl. lia.
  - inversion H as [|n1 ? ? s1 H1|n1 ? ? s1 H1]; subst; simpl.
    + specialize (IH _ _ H1). lia.
    + (* not the first: each of those before the n-th is no more than the one behind it *)
      apply Nat.le_trans with (sum (firstn n l)); [|apply IH; assumption].
      pose proof (picks_length _ _ _ H1) as L. clear - O F L. revert n L. 
      assert (G : forall l x n, StronglySorted le l -> Forall (le x) l -> n <= length l -> sum (firstn n (x :: l)) <= sum (firstn n l)).
      { clear. intros l. induction l as [|y l IH]; intros x [|n] O F L; simpl in *; try lia.
        inversion O; inversion F; subst. specialize (IH y n ltac:(assumption) ltac:(assumption) ltac:(lia)).
        destruct n; simpl in *; lia. }
      intros n L. destruct n; [simpl; lia|]. apply (G l x (S n)); assumption.
Qed.
Lemma sorted l : StronglySorted le (NatSort.sort l).
Proof.
  assert (T : StronglySorted (fun x y => is_true (NatOrder.leb x y)) (NatSort.sort l)).
  { apply NatSort.StronglySorted_sort. intros x y z. unfold is_true, NatOrder.leb. rewrite !Nat.leb_le. lia. }
  induction T as [|x k T IH F]; constructor; [assumption|].
  eapply Forall_impl; [|exact F]. cbv beta. unfold is_true. intros y. apply (proj1 (Nat.leb_le x y)).
Qed.
Lemma cheapest_least n l s : picks n l s -> cheapest n l <= s.
Proof. intros H. apply first_least; [apply sorted|]. eapply picks_permuted; [apply NatSort.Permuted_sort|exact H]. Qed.
Lemma cheapest_picked n l : n <= length l -> picks n l (cheapest n l).
Proof.
  intros H. eapply picks_permuted; [apply Permutation_sym, NatSort.Permuted_sort|]. apply picks_all_first.
  rewrite <- (Permutation_length (NatSort.Permuted_sort l)). exact H.
Qed.
Lemma cheapest_more l : forall n n', n <= n' <= length l -> cheapest n l <= cheapest n' l.
Proof.
  rewrite (Permutation_length (NatSort.Permuted_sort l)). unfold cheapest. generalize (NatSort.sort l) as k. clear l. intros k.
  induction k as [|x k IH]; intros [|n] [|n'] H; simpl in *; try lia.
  specialize (IH n n' ltac:(lia)). lia.
Qed.

Section Votes.
Variable C : nat.                               (* classes *)
(* wins_tie: of two classes 1, of more the least index *)
Definition tie (a b : nat) : bool := if C =? 2 then a =? 1 else a <? b.
Fixpoint count (c : nat) (v : list nat) : nat := match v with [] => 0 | x :: v => (if x =? c then 1 else 0) + count c v end.
(* b has so many votes that it stands before a *)
Definition before (v : list nat) (b a : nat) : bool := count a v + (if tie b a then 0 else 1) <=? count b v.
(* winner_of *)
Fixpoint best (v : list nat) (n : nat) : nat := match n with O => 0 | S n => if before v n (best v n) then n else best v n end.
Definition winner (v : list nat) : nat := best v C.

Lemma tie_other a b : a <> b -> a < C -> b < C -> tie a b = negb (tie b a).
Proof.
  unfold tie. intros. destruct (Nat.eqb_spec C 2).
  - destruct (Nat.eqb_spec a 1), (Nat.eqb_spec b 1); simpl; lia.
  - destruct (Nat.ltb_spec a b), (Nat.ltb_spec b a); simpl; lia.
Qed.
Lemma tie_trans a b c : a < C -> b < C -> c < C -> a <> c -> tie a b = true -> tie b c = true -> tie a c = true.
Proof. unfold tie. intros. destruct (Nat.eqb_spec C 2); rewrite ?Nat.eqb_eq, ?Nat.ltb_lt in *; lia. Qed.
Lemma best_spec v n : 0 < n <= C -> best v n < n /\ forall c, c < n -> c <> best v n -> before v (best v n) c = true.
Proof.
  induction n as [|n IH]; intros H; [lia|]. simpl. destruct n as [|n].
  - simpl. destruct (before v 0 0); split; intros; lia.
  - destruct (IH ltac:(lia)) as (B & W). set (b := best v (S n)) in *.
    destruct (before v (S n) b) eqn:E.
    + split; [lia|]. intros c Hc Hne. assert (c < S n) by lia. destruct (Nat.eq_dec c b) as [->|Ne]; [exact E|].
      specialize (W c ltac:(lia) Ne). unfold before in *. rewrite Nat.leb_le in *.
      pose proof (tie_trans (S n) b c ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)).
      destruct (tie (S n) b), (tie b c), (tie (S n) c); try lia.
    + split; [lia|]. intros c Hc Hne. destruct (Nat.eq_dec c (S n)) as [->|]; [|apply W; lia].
      unfold before in *. rewrite Nat.leb_le. apply Nat.leb_gt in E. 
      rewrite (tie_other (S n) b) in E by lia. destruct (tie b (S n)); simpl in *; lia.
Qed.
(* Another class wins exactly if some class stands before a. *)
Lemma another_wins v a : 0 < C -> a < C -> winner v <> a <-> exists b, b < C /\ b <> a /\ before v b a = true.
Proof.
  intros HC Ha. destruct (best_spec v C ltac:(lia)) as (B & W). fold (winner v) in *. split.
  - intros Ne. exists (winner v). split; [exact B|]. split; [exact Ne|]. apply W; lia.
  - intros (b & Hb & Ne & Be) E. subst a. specialize (W b Hb Ne). unfold before in *. rewrite Nat.leb_le in *.
    rewrite (tie_other b (winner v)) in Be by lia. destruct (tie (winner v) b); simpl in *; lia.
Qed.

(* overtaking_cost: costs of a's voters, and of those of third classes *)
Definition voters (a : nat) (e : list member) := map (fun m => snd m + 1) (filter (fun m => fst m =? a) e).
Definition thirds (a b : nat) (e : list member) := map (fun m => snd m + 1) (filter (fun m => negb (fst m =? a) && negb (fst m =? b)) e).
Definition needed (a b : nat) (e : list member) : nat := count a (labels e) + (if tie b a then 0 else 1) - count b (labels e).
Definition choices (a b : nat) (e : list member) : list nat :=
  flat_map (fun i => let rest := needed a b e - 2 * i in
    if rest <=? length (thirds a b e) then [cheapest i (voters a e) + cheapest rest (thirds a b e)] else [])
  (seq 0 (S (length (voters a e)))).
(* the least over all rivals; turning all of a's voters is always among them *)
Definition overtaking (e : list member) : nat := let a := winner (labels e) in
  fold_right Nat.min (sum (voters a e)) (flat_map (fun b => if b =? a then [] else choices a b e) (seq 0 C)).

(* What turns cost, and what they gain for b on a. *)
Lemma spent a b : a <> b -> forall e v, length v = length e -> exists i x s y,
  picks i (voters a e) x /\ picks s (thirds a b e) y /\ x + y <= cost e v /\
  count b v + count a (labels e) <= count a v + count b (labels e) + 2 * i + s.
Proof.
  intros Hab. induction e as [|(l, h) e IH]; intros [|w v] Hv; simpl in Hv; try lia.
  - exists 0, 0, 0, 0. repeat split; try constructor; simpl; lia.
  - destruct (IH v ltac:(lia)) as (i & x & s & y & P & Q & R & G). unfold voters, thirds, labels in *. simpl.
    destruct (Nat.eqb_spec l a), (Nat.eqb_spec l b), (Nat.eqb_spec w l), (Nat.eqb_spec w a), (Nat.eqb_spec w b); subst; try congruence; simpl;
      first
      [ exists i, x, s, y; (split; [try apply skip; assumption|]); (split; [try apply skip; assumption|]); lia
      | exists (S i), (h + 1 + x), s, y; (split; [apply take; assumption|]); (split; [assumption|]); lia
      | exists i, x, (S s), (h + 1 + y); (split; [assumption|]); (split; [apply take; assumption|]); lia ].
Qed.
Lemma turned a b : a <> b -> forall e i x s y, picks i (voters a e) x -> picks s (thirds a b e) y -> exists v,
  length v = length e /\ cost e v = x + y /\
  count b v + count a (labels e) = count a v + count b (labels e) + 2 * i + s.
Proof.
  intros Hab. induction e as [|(l, h) e IH]; intros i x s y P Q.
  - inversion P; inversion Q; subst. exists []. repeat split.
  - unfold voters, thirds in P, Q. simpl in P, Q.
    destruct (Nat.eqb_spec l a) as [->|Na]; [|destruct (Nat.eqb_spec l b) as [->|Nb]]; simpl in P, Q.
    + inversion P as [|i' ? ? x' P'|i' ? ? x' P']; subst; destruct (IH _ _ _ _ P' Q) as (v & L & Co & G); clear IH.
      * exists (b :: v). simpl. destruct (Nat.eqb_spec b a), (Nat.eqb_spec a b); try congruence. rewrite !Nat.eqb_refl. repeat split; simpl; lia.
      * exists (a :: v). simpl. rewrite !Nat.eqb_refl. destruct (Nat.eqb_spec a b); try congruence. repeat split; simpl; lia.
    + destruct (IH _ _ _ _ P Q) as (v & L & Co & G). exists (b :: v). simpl. rewrite !Nat.eqb_refl. destruct (Nat.eqb_spec b a); try congruence. repeat split; simpl; lia.
    + inversion Q as [|s' ? ? y' Q'|s' ? ? y' Q']; subst; destruct (IH _ _ _ _ P Q') as (v & L & Co & G); clear IH.
      * exists (b :: v). simpl. destruct (Nat.eqb_spec b l), (Nat.eqb_spec b a), (Nat.eqb_spec l a), (Nat.eqb_spec l b); try congruence. rewrite !Nat.eqb_refl. repeat split; simpl; lia.
      * exists (l :: v). simpl. destruct (Nat.eqb_spec l a), (Nat.eqb_spec l b); try congruence. rewrite !Nat.eqb_refl. repeat split; simpl; lia.
Qed.

Lemma fold_min_le d l x : x = d \/ In x l -> fold_right Nat.min d l <= x.
Proof.
  induction l as [|y l IH]; simpl; intros [H|H]; [lia|tauto|specialize (IH (or_introl H)); lia|].
  destruct H as [->|H]; [lia|]. specialize (IH (or_intror H)). lia.
Qed.
Lemma fold_min_in d l : fold_right Nat.min d l = d \/ In (fold_right Nat.min d l) l.
Proof. induction l; simpl; [auto|]. destruct (Nat.min_spec a (fold_right Nat.min d l)) as [(_ & ->)|(_ & ->)]; [right; left; reflexivity|]. tauto. Qed.
Lemma voters_count a e : length (voters a e) = count a (labels e).
Proof. unfold voters, labels. induction e as [|(l, h) e IH]; simpl; [reflexivity|]. destruct (l =? a); simpl; lia. Qed.

Theorem cheapest_voters : 2 <= C -> forall e, e <> [] -> (forall m, In m e -> fst m < C) -> least winner e (overtaking e).
Proof.
  intros HC e He Hl. set (a := winner (labels e)). destruct (best_spec (labels e) C ltac:(lia)) as (Ha & W). fold (winner (labels e)) in Ha, W. fold a in Ha, W.
  (* the winner has a vote *)
  assert (Va : 1 <= count a (labels e)).
  { destruct e as [|(l, h) e]; [congruence|]. destruct (Nat.eq_dec l a) as [E|E]; [simpl; rewrite E, Nat.eqb_refl; lia|].
    specialize (W l (Hl _ (or_introl eq_refl)) E). unfold before in W. rewrite Nat.leb_le in W. simpl in *. rewrite Nat.eqb_refl in W. lia. }
  assert (reached : forall b, b < C -> b <> a -> forall i, i <= length (voters a e) -> needed a b e - 2 * i <= length (thirds a b e) ->
    exists v, goal winner e v /\ cost e v = cheapest i (voters a e) + cheapest (needed a b e - 2 * i) (thirds a b e)).
  { intros b Hb Ne i Hi Hs. destruct (turned a b (not_eq_sym Ne) e _ _ _ _ (cheapest_picked i _ Hi) (cheapest_picked _ _ Hs)) as (v & L & Co & G).
    exists v. split; [split; [exact L|]|exact Co]. apply another_wins; [lia|exact Ha|]. exists b. split; [exact Hb|]. split; [exact Ne|].
    unfold before. fold a. rewrite Nat.leb_le. unfold needed in G. destruct (tie b a); lia. }
  split.
  - unfold overtaking. fold a. destruct (fold_min_in (sum (voters a e)) (flat_map (fun b => if b =? a then [] else choices a b e) (seq 0 C))) as [E|I].
    + (* all of a's voters turn to some other class *)
      set (b := if a =? 0 then 1 else 0). assert (Hb : b < C /\ b <> a) by (unfold b; destruct (Nat.eqb_spec a 0); lia).
      rewrite E. destruct (reached b (proj1 Hb) (proj2 Hb) (length (voters a e)) ltac:(lia)) as (v & G & Co).
      { rewrite voters_count. unfold needed. destruct (tie b a); lia. }
      exists v. split; [exact G|]. rewrite Co. rewrite voters_count. unfold needed. replace (_ - 2 * count a (labels e)) with 0 by (destruct (tie b a); lia).
      rewrite <- voters_count. unfold cheapest at 2. simpl. rewrite Nat.add_0_r. unfold cheapest.
      rewrite (Permutation_length (NatSort.Permuted_sort (voters a e))), firstn_all.
      assert (S : forall k k', Permutation k k' -> sum k = sum k') by (induction 1; simpl; lia).
      symmetry. apply S, NatSort.Permuted_sort.
    + set (m := fold_right _ _ _) in *. clearbody m. apply in_flat_map in I. destruct I as (b & Ib & I). apply in_seq in Ib. destruct (Nat.eqb_spec b a) as [|Ne]; [destruct I|].
      unfold choices in I. apply in_flat_map in I. destruct I as (i & Ii & I). apply in_seq in Ii.
      destruct (Nat.leb_spec (needed a b e - 2 * i) (length (thirds a b e))) as [Hs|]; [|destruct I].
      destruct I as [I|[]]. destruct (reached b ltac:(lia) Ne i ltac:(lia) Hs) as (v & G & Co). exists v. split; [exact G|]. lia.
  - intros v (L & G). apply another_wins in G; [|lia|exact Ha]. destruct G as (b & Hb & Ne & Be).
    fold a in Ne. destruct (spent a b (not_eq_sym Ne) e v L) as (i & x & s & y & P & Q & R & G).
    unfold before in Be. fold a in Be, Ne. rewrite Nat.leb_le in Be.
    pose proof (picks_length _ _ _ P) as Pi. pose proof (picks_length _ _ _ Q) as Qs.
    assert (needed a b e <= 2 * i + s) by (unfold needed; destruct (tie b a); lia).
    apply Nat.le_trans with (cheapest i (voters a e) + cheapest (needed a b e - 2 * i) (thirds a b e)).
    + unfold overtaking. fold a. apply fold_min_le. right. apply in_flat_map. exists b. split; [apply in_seq; lia|].
      destruct (Nat.eqb_spec b a); [congruence|]. unfold choices. apply in_flat_map. exists i. split; [apply in_seq; lia|].
      destruct (Nat.leb_spec (needed a b e - 2 * i) (length (thirds a b e))); [left; reflexivity|lia].
    + pose proof (cheapest_least _ _ _ P). pose proof (cheapest_least _ _ _ Q).
      pose proof (cheapest_more (thirds a b e) (needed a b e - 2 * i) s ltac:(lia)). lia.
Qed.
(* So the distance of the program is the one of the theorems above. *)
Theorem the_programs_distance : 2 <= C -> forall e, e <> [] -> (forall m, In m e -> fst m < C) -> distance winner e (overtaking e - 1).
Proof. intros. exists (overtaking e). split; [apply cheapest_voters; assumption|reflexivity]. Qed.
End Votes.

(* ---- Examples, and wrong statements refuted ---- *)
Definition three : list member := [(1, 1); (1, 1); (0, 0)].
Definition moved_three : list member := [(1, 0); (1, 1); (0, 0)].
Ltac labels_below := let I := fresh in intros ? I; simpl in I; repeat destruct I as [I|I]; subst; simpl; lia || tauto.
Ltac of_program := let D := fresh in intros D; apply the_programs_distance; [lia|discriminate|labels_below].
Lemma three_near : neighbours three moved_three.
Proof. exists [], (1, 1), (1, 0), [(1, 1); (0, 0)]. repeat split; simpl; lia. Qed.
Lemma three_is_1 : distance (winner 2) three 1 /\ distance (winner 2) moved_three 0.
Proof. split; [apply (the_programs_distance 2 ltac:(lia) three)|apply (the_programs_distance 2 ltac:(lia) moved_three)]; (discriminate || labels_below). Qed.
Example ensemble_distance_is_1_Lipschitz_example : 1 <= 0 + 1 /\ 0 <= 1 + 1.
Proof. exact (ensemble_distance_is_1_Lipschitz (winner 2) _ _ _ _ three_near (proj1 three_is_1) (proj2 three_is_1)). Qed.
Example equal_winners_unless_both_are_0_example : winner 2 (labels three) = winner 2 (labels moved_three).
Proof. apply (equal_winners_unless_both_are_0 (winner 2) _ _ _ _ three_near (proj1 three_is_1) (proj2 three_is_1)). left. lia. Qed.
Example the_winner_stands_example : winner 2 (labels moved_three) = winner 2 (labels three).
Proof.
  apply (the_winner_stands (winner 2)) with (k := 1) (K := 1); [|apply step with moved_three; [exact three_near|constructor]|apply three_is_1|lia].
  (* with labels of any number of classes another class can win, too *)
  intros x Hx.
  assert (E : exists y, goal (winner 2) x y /\ forall z, goal (winner 2) x z -> cost x y <= cost x z).
  { assert (G : exists y, goal (winner 2) x y).
    { destruct (Nat.eq_dec (winner 2 (labels x)) 0) as [Z|Z].
      - exists (repeat 1 (length x)). split; [apply repeat_length|]. rewrite Z, Hx. discriminate.
      - exists (repeat 0 (length x)). split; [apply repeat_length|]. rewrite Hx. intros H. apply Z. rewrite <- H. reflexivity. }
    destruct G as (y & G). remember (cost x y) as n eqn:En. revert y G En. induction n as [n IH] using lt_wf_ind. intros y G En.
    destruct (classic (exists z, goal (winner 2) x z /\ cost x z < n)) as [(z & Gz & L)|N].
    - apply (IH _ L z Gz eq_refl).
    - exists y. split; [exact G|]. intros z Gz. destruct (Nat.le_gt_cases (cost x y) (cost x z)); [assumption|]. exfalso. apply N. exists z. split; [exact Gz|lia]. }
  destruct E as (y & G & Least). exists (cost x y - 1), (cost x y). split; [split; [exists y; auto|exact Least]|reflexivity].
Qed.
Example cheapest_voters_example : least (winner 3) [(0, 4); (0, 1); (1, 0); (2, 3)] 2.
Proof. apply (cheapest_voters 3 ltac:(lia) [(0, 4); (0, 1); (1, 0); (2, 3)]); [discriminate|labels_below]. Qed.
Example the_programs_distance_example : distance (winner 3) [(0, 4); (0, 1); (1, 0); (2, 3)] 1.
Proof. apply (the_programs_distance 3 ltac:(lia) [(0, 4); (0, 1); (1, 0); (2, 3)]); [discriminate|labels_below]. Qed.

(* Theorem 5.3 as published: the n least distances of all members, n = ceil(|n_1 - n_0| / 2). One record moves it by 6. *)
Definition published (e : list member) : nat :=
  let n := (Nat.max (count 1 (labels e)) (count 0 (labels e)) - Nat.min (count 1 (labels e)) (count 0 (labels e)) + 1) / 2 in
  cheapest n (map snd e) + n - 1.
Fact ensemble_distance_is_1_Lipschitz_mutant : let four := [(1, 5); (1, 5); (1, 5); (0, 5)] in
  neighbours (four ++ [(0, 0)]) (four ++ [(1, 0)]) /\ published (four ++ [(0, 0)]) = 0 /\ published (four ++ [(1, 0)]) = 6.
Proof. split; [exists [(1, 5); (1, 5); (1, 5); (0, 5)], (0, 0), (1, 0), []; repeat split; simpl; lia|split; reflexivity]. Qed.
Lemma one_member l : l < 2 -> least (winner 2) [(l, 0)] 1.
Proof.
  intros H. assert (E : overtaking 2 [(l, 0)] = 1) by (destruct l as [|[|l]]; [reflexivity|reflexivity|lia]). pose proof (cheapest_voters 2 ltac:(lia) [(l, 0)]) as P. rewrite E in P.
  apply P; [discriminate|]. intros m [<-|[]]. exact H.
Qed.
Lemma one_near : neighbours [(1, 0)] [(0, 0)].
Proof. exists [], (1, 0), (0, 0), []. repeat split; simpl; lia. Qed.
(* The least cost itself, not less one. *)
Fact equal_winners_unless_both_are_0_mutant : neighbours [(1, 0)] [(0, 0)] /\ least (winner 2) [(1, 0)] 1 /\
  winner 2 (labels [(1, 0)]) <> winner 2 (labels [(0, 0)]).
Proof. split; [exact one_near|]. split; [apply one_member; lia|discriminate]. Qed.
(* One record beyond the distance. *)
Fact the_winner_stands_mutant : chain 1 [(1, 0)] [(0, 0)] /\ distance (winner 2) [(1, 0)] 0 /\ winner 2 (labels [(0, 0)]) <> winner 2 (labels [(1, 0)]).
Proof. split; [apply step with [(0, 0)]; [exact one_near|constructor]|]. split; [exists 1; split; [apply one_member; lia|reflexivity]|discriminate]. Qed.
(* Ties forgotten: one vote less would do. *)
Fact cheapest_voters_mutant : let e := [(0, 0); (1, 0)] in needed 3 0 1 e = 1 /\ ~ least (winner 3) e 0.
Proof.
  split; [reflexivity|]. intros ((v & G & Co) & _).
  pose proof (cheapest_voters 3 ltac:(lia) [(0, 0); (1, 0)] ltac:(discriminate) ltac:(labels_below)) as (_ & L).
  specialize (L v G). rewrite Co in L. vm_compute in L. lia.
Qed.
Fact the_programs_distance_mutant : ~ distance (winner 3) [(0, 4); (0, 1); (1, 0); (2, 3)] 2.
Proof.
  intros (k & ((v & G & Co) & L) & E). destruct cheapest_voters_example as ((w & Gw & Cw) & Lw).
  specialize (L w Gw). specialize (Lw v G). lia.
Qed.
